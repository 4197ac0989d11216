"""An agent without a line of telemetry in it: `python agent.py servers.json`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

LIMIT: Any = timedelta(seconds=1) if version("mcp").startswith("1.") else 1.0
JOBS = (("echo", {"text": "hello"}), ("reject", {"text": "no such day"}), ("hang", {}))


async def connect(stack: AsyncExitStack, server: dict[str, Any]) -> ClientSession:
    if "url" in server:
        streams: Any = await stack.enter_async_context(streamable_http_client(server["url"]))
    else:
        streams = await stack.enter_async_context(stdio_client(StdioServerParameters(**server)))
    session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
    await session.initialize()
    return session


async def work(name: str, server: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        session = await connect(stack, server)
        for tool, arguments in JOBS:
            try:
                result = await session.call_tool(tool, arguments, read_timeout_seconds=LIMIT)
                print(name, tool, result.content[0].text)
            except Exception as error:
                print(name, tool, type(error).__name__)


async def main(servers: dict[str, Any]) -> None:
    for name, server in servers.items():
        await work(name, server)


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())["mcpServers"]))
