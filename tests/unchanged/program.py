"""A program that knows of no telemetry: it calls MCP servers in every way that ends differently and prints each end.

    python program.py CONFIG.json

``CONFIG.json`` has ``command``, ``args`` and ``env`` of a stdio server, ``url`` of an HTTP server, and ``bad_url`` of
one that refuses. What is printed has nothing in it that differs from one run to the next. At its end the program waits
for its standard input to be closed, as one waits that has more to do later.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp.client.streamable_http import streamable_http_client
except ImportError:  # before mcp 1.24
    from mcp.client.streamable_http import streamablehttp_client as streamable_http_client

SDK_1 = version("mcp").startswith("1.")
LIMIT = 0.3


async def show(what: str, awaitable: Awaitable[Any]) -> None:
    try:
        answer = await awaitable
    except BaseException as error:
        print(what, "raised", described(error), flush=True)
    else:
        print(what, "gave", answer.model_dump_json(exclude_none=True), flush=True)


def described(error: BaseException) -> str:
    """Type, text, cause and context, without addresses in memory and numbers of tasks."""
    if inner := getattr(error, "exceptions", None):
        return f"{type(error).__name__}[{', '.join(described(each) for each in inner)}]"
    text = re.sub(r"0x[0-9a-f]+|Task-\d+|\b[0-9a-f]{12,}\b", "#", str(error))
    around = f"{type(error.__cause__).__qualname__} {type(error.__context__).__qualname__}"
    return f"{type(error).__module__}.{type(error).__qualname__}({text!r}) {around}"


async def in_stdio(config: dict[str, Any], steps: Callable[[ClientSession], Awaitable[None]]) -> None:
    parameters = StdioServerParameters(command=config["command"], args=config["args"], env=config["env"])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await show("initialize", session.initialize())
        await steps(session)


async def in_http(config: dict[str, Any], steps: Callable[[ClientSession], Awaitable[None]]) -> None:
    async with streamable_http_client(config["url"]) as opened, ClientSession(opened[0], opened[1]) as session:
        await show("initialize", session.initialize())
        await steps(session)


async def ordinary(session: ClientSession) -> None:
    limit: Any = timedelta(seconds=LIMIT) if SDK_1 else LIMIT
    uri: Any = "demo://note"
    await show("list_tools", session.list_tools())
    await show("list_resources", session.list_resources())
    await show("list_prompts", session.list_prompts())
    await show("ok", session.call_tool("echo", {"text": "hello"}))
    await show("a tool error", session.call_tool("reject", {}))
    await show("a JSON-RPC error", session.call_tool("rpc_error", {"code": -32042}))
    await show("a tool that is not there", session.call_tool("no_such_tool", {}))
    await show("structure", session.call_tool("structured", {"value": 7}))
    await show("a result that is none", session.call_tool("malformed", {}))
    await show("progress", session.call_tool("progress", {"steps": 2}, progress_callback=reported))
    await show("the SDK's time-out", session.call_tool("hang", {}, read_timeout_seconds=limit))
    await show("wait_for", asyncio.wait_for(session.call_tool("hang", {}), LIMIT))
    await show("a resource", session.read_resource(uri))
    await show("a prompt", session.get_prompt("greet"))
    await cancelled(session)
    await side_by_side(session)


async def reported(progress: float, total: float | None, message: str | None) -> None:
    print("progress", progress, total, message, flush=True)


async def cancelled(session: ClientSession) -> None:
    task = asyncio.create_task(session.call_tool("hang", {}))
    await session.call_tool("echo", {"text": "sent after it, so it is under way"})
    task.cancel("enough")
    await show("a cancelled task", task)


async def side_by_side(session: ClientSession) -> None:
    calls = [session.call_tool("slow", {"seconds": 0.3 - 0.1 * number}) for number in range(3)]
    for number, call in enumerate(await asyncio.gather(*calls)):
        print("side by side", number, call.model_dump_json(exclude_none=True), flush=True)


async def fatal(session: ClientSession) -> None:
    await show("the server's death", session.call_tool("die", {"code": 3}))
    await show("on a dead session", session.call_tool("echo", {}, read_timeout_seconds=None))


async def refused(session: ClientSession) -> None:
    await show("an HTTP error", session.call_tool("progress", {}))


async def main(config: dict[str, Any]) -> None:
    for name, way in (("stdio", in_stdio), ("http", in_http)):
        print("---", name, flush=True)
        await way(config, ordinary)
    for name, way, steps in (("stdio", in_stdio, fatal), ("http", in_http, refused)):
        print("---", name, steps.__name__, flush=True)
        try:
            await way({**config, "url": config["bad_url"]}, steps)
        except BaseException as error:
            print("left by", described(error), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
    print("end", flush=True)
    sys.stdin.read()
