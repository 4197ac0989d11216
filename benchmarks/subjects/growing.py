"""A program that grows: ``growing.py bare|ours connectors|at_once|threads``.

Answers ``{"size": n, "calls": m}`` with the processor time of a call, in microseconds: `m` calls by turns over `n`
sessions; or on one session, `n` at a time; or by `n` threads, each with an event loop and a session of its own.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AsyncExitStack
from typing import Any

import anyio
from channel import answer, questions
from transports import ready
from ways import Sinks, ours


async def connectors() -> None:
    async with AsyncExitStack() as stack:
        sessions: list[Any] = []
        for question in questions():
            while len(sessions) < question["size"]:
                sessions.append(await stack.enter_async_context(ready(name=f"server-{len(sessions)}")))
            before = time.process_time()
            for number in range(question["calls"]):
                await sessions[number % question["size"]].call_tool("echo", {"a": 1})
            answer((time.process_time() - before) / question["calls"] * 1e6)


async def at_once() -> None:
    async with ready() as session:
        for question in questions():
            rounds = max(1, question["calls"] // question["size"])
            before = time.process_time()
            for _ in range(rounds):
                async with anyio.create_task_group() as tasks:
                    for _ in range(question["size"]):
                        tasks.start_soon(session.call_tool, "echo", {"a": 1})
            answer((time.process_time() - before) / (rounds * question["size"]) * 1e6)


def threads() -> None:
    for question in questions():
        size, calls = question["size"], max(1, question["calls"] // question["size"])
        together, spent = threading.Barrier(size), []

        def one(number: int, calls: int = calls, together: threading.Barrier = together, spent: Any = spent) -> None:
            async def agent() -> None:
                async with ready(name=f"server-{number}") as session:
                    together.wait()
                    before = time.thread_time()
                    for _ in range(calls):
                        await session.call_tool("echo", {"a": 1})
                    spent.append(time.thread_time() - before)

            anyio.run(agent)

        running = [threading.Thread(target=one, args=(number,)) for number in range(size)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        answer(sum(spent) / (size * calls) * 1e6)


def main(way: str, what: str) -> None:
    if way == "ours":
        ours(Sinks())
    answer("ready")
    if what == "threads":
        threads()
    else:
        anyio.run({"connectors": connectors, "at_once": at_once}[what])


if __name__ == "__main__":
    main(*sys.argv[1:3])
