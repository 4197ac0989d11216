"""How much memory a program takes: ``remembering.py bare|ours``.

Answers ``{"connectors": n}``, ``{"open": n}`` and ``{"calls": n}``: it opens so many sessions or requests more, or does
so many calls, and says how many bytes are resident and how many objects the garbage collector knows.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from channel import answer, questions
from transports import ready
from ways import Sinks, ours


def used() -> dict[str, int]:
    """Resident bytes, and objects."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"bytes": pages * os.sysconf("SC_PAGE_SIZE"), "objects": len(gc.get_objects())}


class Program:
    """An agent with sessions in memory."""

    def __init__(self, sinks: Sinks | None, stack: AsyncExitStack, tasks: TaskGroup) -> None:
        self._sinks = sinks
        self._stack = stack
        self._tasks = tasks
        self._answering = anyio.Event()
        self._sessions: list[Any] = []
        self._silent: Any = None

    async def connectors(self, count: int) -> None:
        """Opens sessions, each with a peer of another name, and calls each once."""
        for _ in range(count):
            session = await self._stack.enter_async_context(ready(name=f"server-{len(self._sessions)}"))
            self._sessions.append(session)
            await session.call_tool("echo", {"a": 1})

    async def open(self, count: int) -> None:
        """Begins calls that are not answered."""
        if self._silent is None:
            self._silent = await self._stack.enter_async_context(ready(name="silent", answering=self._answering))
        for _ in range(count):
            self._tasks.start_soon(self._silent.call_tool, "echo", {"a": 1})
        await anyio.wait_all_tasks_blocked()

    async def calls(self, count: int) -> None:
        """Calls, one after the other, on one session; the metrics are collected now and then, as by a scrape."""
        if not self._sessions:
            await self.connectors(1)
        for number in range(count):
            await self._sessions[0].call_tool("echo", {"a": 1})
            if number % 1000 == 0 and self._sinks is not None:
                self._sinks.reader.get_metrics_data()

    def release(self) -> None:
        """Lets the open calls be answered."""
        self._answering.set()


async def main(way: str) -> None:
    sinks = Sinks() if way == "ours" else None
    if sinks is not None:
        ours(sinks)
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        program = Program(sinks, stack, tasks)
        answer("ready")
        for question in questions():
            for what, count in question.items():
                await getattr(program, what)(count)
            answer(used())
        program.release()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
