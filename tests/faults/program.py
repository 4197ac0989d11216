"""A small program that calls MCP servers while something breaks. It knows of no telemetry.

    python program.py CONFIG.json SCENE…

Each scene runs on an event loop of its own. What happens to each call is printed as a line of JSON, and so are marks
at which a test acts from outside; at some of them the program waits for a line on its standard input.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from mcp import ClientSession, StdioServerParameters

from harness.sessions import call_tool, client_session, text

Scene = Callable[["Way"], Awaitable[None]]
SCENES: dict[str, Scene] = {}


def scene(function: Scene) -> Scene:
    """Makes a scene that the command line can name."""
    SCENES[getattr(function, "__name__", "")] = function
    return function


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def described(error: BaseException) -> str:
    """Type and text of an exception, without what differs from one run to the next."""
    if inner := getattr(error, "exceptions", None):
        return f"{type(error).__name__}[{', '.join(described(each) for each in inner)}]"
    return f"{type(error).__qualname__}: {re.sub(r'0x[0-9a-f]+|Task-[0-9]+|cb=.*', '#', str(error))}"


@dataclass
class Way:
    """What a scene works with."""

    config: dict[str, Any]
    name: str
    session_class: type[ClientSession] = ClientSession

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ClientSession]:
        """A session with a stdio server of this scene's name."""
        given = self.config["server"]
        parameters = StdioServerParameters(**{**given, "args": [*given["args"], "--name", self.name]})
        async with client_session(parameters, session_class=self.session_class) as session:
            await session.list_tools()
            yield session

    async def calls(self, session: Any, many: int, **options: Any) -> None:
        """So many calls one after another, each told of."""
        for number in range(many):
            await self.show(call_tool(session, "echo", {"text": str(number)}, **options))

    async def show(self, awaitable: Awaitable[Any]) -> None:
        """Tells what a call gives."""
        try:
            told = text(await awaitable)
        except Exception as error:
            told = described(error)
        say(call=told)

    async def open_call(self, session: Any) -> asyncio.Task[Any]:
        """A call that gets no answer and has reached the server."""
        task = asyncio.create_task(call_tool(session, "hang"))
        await self.calls(session, 1)  # goes out after it
        return task

    async def pause(self, mark: str) -> None:
        """Tells a test that it is its turn, and waits until it has had it."""
        say(mark=mark)
        await asyncio.to_thread(sys.stdin.readline)


def servers() -> list[int]:
    """Processes that this one has started."""
    return [child.pid for child in psutil.Process().children()]


async def settled() -> None:
    """Says what this process has open, once the helpers of a scene have had the time to end."""
    gc.collect()
    await asyncio.sleep(0.1)
    say(own={"threads": threading.active_count(), "descriptors": psutil.Process().num_fds()})


async def one(way: Way, play: Scene) -> None:
    await settled()
    await play(way)
    await settled()


async def warm_up(way: Way) -> None:
    """What the first session costs once is no part of a scene."""
    async with way.session():
        await asyncio.sleep(0.5)  # a log that somebody writes behind our back is open by then


def main(file: str, *names: str) -> None:
    import faults.scenes

    assert faults.scenes, "importing it fills SCENES"
    config = json.loads(Path(file).read_text())
    if config.get("loop") == "uvloop":
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(warm_up(Way(config, "warm-up")))
    for name in names:
        say(scene=name)
        asyncio.run(one(Way(config, name), SCENES[name]))
    say(end=os.getpid())


if __name__ == "__main__":
    from faults.program import main as run  # the module of that name, so that there is one table of scenes

    run(*sys.argv[1:])
