"""A small unattended agent, as anyone would write it: plain MCP client code, nothing of this package in it.

    python agent.py CONFIG.json --seconds 40

``CONFIG.json`` has the usual ``mcpServers`` (``command`` and ``args``, or ``url``), and for each of them the ``jobs``
to do again and again: ``tool``, ``arguments``, ``every`` (seconds) and ``limit`` (seconds, ``null`` for none). It
prints a line for every call that did not go well, and never stops for one.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

SDK_1 = version("mcp").startswith("1.")
PAUSE_BEFORE_RECONNECT = 1.0


@contextlib.asynccontextmanager
async def connect(server: dict[str, Any]) -> AsyncIterator[ClientSession]:
    async with AsyncExitStack() as stack:
        if "url" in server:
            streams: Any = await stack.enter_async_context(streamable_http_client(server["url"]))
        else:
            parameters = StdioServerParameters(command=server["command"], args=server["args"], env=server.get("env"))
            streams = await stack.enter_async_context(stdio_client(parameters))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        await session.list_tools()
        yield session


async def call(session: ClientSession, job: dict[str, Any]) -> Any:
    limit: Any = job["limit"]
    if limit is not None and SDK_1:
        limit = timedelta(seconds=limit)
    return await session.call_tool(job["tool"], job["arguments"], read_timeout_seconds=limit)


async def look_after(name: str, server: dict[str, Any]) -> None:
    """Keeps one server's jobs going, over as many connections as it takes."""
    schedule = itertools.cycle(server["jobs"])
    while True:
        try:
            async with connect(server) as session:
                await work(name, session, schedule)
        except Exception as problem:  # noqa: BLE001 - an unattended agent goes on, whatever a server does
            tell(name, "connection lost", problem)
        await anyio.sleep(PAUSE_BEFORE_RECONNECT)


async def work(name: str, session: ClientSession, schedule: Any) -> None:
    """Does the jobs one after another; returns when the server seems to be gone."""
    for job in schedule:
        try:
            result = await call(session, job)
        except Exception as problem:  # noqa: BLE001 - the next job may do better
            tell(name, job["tool"], problem)
            if "closed" in str(problem).lower():
                return
        else:
            if result.isError if SDK_1 else result.is_error:
                tell(name, job["tool"], result.content[0].text)
        await anyio.sleep(job["every"])


def tell(*words: object) -> None:
    print(*words, sep=": ", flush=True)


LookAfter = Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]


async def run(config: dict[str, Any], seconds: float, look_after: LookAfter) -> None:
    async with anyio.create_task_group() as tasks:
        for name, server in config["mcpServers"].items():
            tasks.start_soon(look_after, name, server)
        await anyio.sleep(seconds)
        tasks.cancel_scope.cancel()


def main(look_after: LookAfter = look_after) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--seconds", type=float, default=40.0)
    given = parser.parse_args()
    anyio.run(run, json.loads(given.config.read_text()), given.seconds, look_after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
