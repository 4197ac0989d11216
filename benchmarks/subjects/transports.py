"""Sessions with a peer that answers at once: in memory, or a process over stdio."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from echo_server import ANSWERS
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

MAJOR = int(importlib.metadata.version("mcp").split(".")[0])
ECHO = str(Path(__file__).with_name("echo_server.py"))
METHOD_NOT_FOUND = -32601

Call = Callable[[], Awaitable[Any]]


async def peer(read: Any, write: Any, name: str = "peer", answering: anyio.Event | None = None) -> None:
    """Answers every request at once, without the SDK's server; tool calls only after `answering`, where it is given."""
    types: Any = __import__("mcp.types" if MAJOR == 1 else "mcp_types", fromlist=["JSONRPCResponse"])
    async for item in read:
        message = item.message.root if MAJOR == 1 else item.message
        if not hasattr(message, "id"):
            continue
        if answering is not None and message.method == "tools/call":
            await answering.wait()
        if message.method in ANSWERS:
            result = {**ANSWERS[message.method]}
            if "serverInfo" in result:
                result["serverInfo"] = {"name": name, "version": "1"}
            answer = types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
        else:
            error = types.ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
            answer = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        await write.send(SessionMessage(types.JSONRPCMessage(answer) if MAJOR == 1 else answer))


@contextlib.asynccontextmanager
async def in_memory(
    session_class: Any = ClientSession, name: str = "peer", answering: anyio.Event | None = None, **options: Any
) -> AsyncIterator[Any]:
    """A session that is not yet initialised, with a peer in the same loop."""
    async with create_client_server_memory_streams() as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(peer, *server, name, answering)
        async with session_class(*client, **options) as session:
            yield session
        tasks.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def ready(**options: Any) -> AsyncIterator[Any]:
    """A session in memory that knows its peer's tools."""
    async with in_memory(**options) as session:
        await session.initialize()
        await session.list_tools()
        yield session


@contextlib.asynccontextmanager
async def stdio(parameters: StdioServerParameters | None = None) -> AsyncIterator[Any]:
    """A session, not yet initialised, with a server process; its stderr is dropped."""
    server = parameters or StdioServerParameters(command=sys.executable, args=["-S", ECHO])
    with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230 - the null device blocks nobody
        async with stdio_client(server, errlog=nowhere) as streams, ClientSession(*streams) as session:
            yield session


@contextlib.asynccontextmanager
async def calling(transport: str) -> AsyncIterator[Call]:
    """One call of the tool `echo`, by the SDK's `ClientSession` over `memory` or `stdio`."""
    async with {"memory": in_memory, "stdio": stdio}[transport]() as session:
        await session.initialize()
        await session.list_tools()

        async def call() -> Any:
            return await session.call_tool("echo", {"a": 1})

        yield call


@contextlib.asynccontextmanager
async def calling_by_fastmcp(transport: str) -> AsyncIterator[Call]:
    """One call of the tool `echo`, by fastmcp's `Client`."""
    from fastmcp import Client
    from fastmcp.client.transports import ClientTransport, StdioTransport

    class InMemory(ClientTransport):  # type: ignore[misc]
        @contextlib.asynccontextmanager
        async def connect_session(self, *, transport_options: Any = None, **options: Any) -> AsyncIterator[Any]:
            kind = transport_options.session_class if transport_options else ClientSession
            async with in_memory(kind, **options) as session:
                yield session

    chosen = InMemory() if transport == "memory" else StdioTransport(sys.executable, ["-S", ECHO])
    async with Client(chosen) as client:

        async def call() -> Any:
            return await client.call_tool_mcp("echo", {"a": 1})

        yield call
