"""One way to open a real ``ClientSession`` and to read its answers on mcp 1.x and 2.x."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import mcp
import mcp.shared.exceptions
import mcp.types
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

try:
    from mcp.client.streamable_http import streamable_http_client
except ImportError:  # before mcp 1.24
    from mcp.client.streamable_http import streamablehttp_client

    def streamable_http_client(url: str, *, http_client: Any = None) -> Any:
        return streamablehttp_client(url, auth=http_client and http_client.auth)


VERSION = importlib.metadata.version("mcp")
MAJOR, MINOR = (int(part) for part in VERSION.split(".")[:2])
McpError: type[Exception] = getattr(mcp.shared.exceptions, "McpError" if MAJOR == 1 else "MCPError")
PROTOCOL = min("2025-11-25", mcp.types.LATEST_PROTOCOL_VERSION)
"""What `initialize` agrees on with our fault server: the last protocol that has it, or the last that this SDK knows."""
LOCAL_TIMEOUT_CODE = 408 if MAJOR == 1 else -32001

Target = StdioServerParameters | str


@contextlib.asynccontextmanager
async def streams(target: Target, *, errlog: TextIO | None = None, **options: Any) -> AsyncIterator[tuple[Any, Any]]:
    """The read and the write stream of a transport: stdio parameters, a ``/sse`` URL or any other URL.

    ``options`` go to the SDK's transport function. A server's stderr is dropped unless ``errlog`` is given.
    """
    async with AsyncExitStack() as stack:
        opened: Any
        if isinstance(target, str):
            open_transport: Any = sse_client if target.endswith("/sse") else streamable_http_client
            opened = await stack.enter_async_context(open_transport(target, **options))
        else:
            log = errlog or stack.enter_context(_nowhere())
            opened = await stack.enter_async_context(stdio_client(target, errlog=log, **options))
        yield opened[0], opened[1]


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w")


@contextlib.asynccontextmanager
async def client_session(
    target: Target,
    *,
    read_timeout: float | None = None,
    initialize: bool = True,
    errlog: TextIO | None = None,
    session_class: type[ClientSession] = ClientSession,
    transport_options: dict[str, Any] | None = None,
    **session_options: Any,
) -> AsyncIterator[ClientSession]:
    """A session as a program would open it, initialised unless told otherwise; ``read_timeout`` in seconds."""
    async with streams(target, errlog=errlog, **(transport_options or {})) as (read, write):
        options = {"read_timeout_seconds": sdk_timeout(read_timeout), **session_options}
        async with session_class(read, write, **options) as session:
            if initialize:
                await session.initialize()
            yield session


def sdk_timeout(seconds: float | None) -> Any:
    """A limit in the type that this SDK version wants."""
    return timedelta(seconds=seconds) if MAJOR == 1 and seconds is not None else seconds


async def call_tool(
    session: Any, name: str, arguments: dict[str, Any] | None = None, *, timeout: float | None = None, **options: Any
) -> Any:
    """``session.call_tool`` with its limit in seconds."""
    return await session.call_tool(name, arguments or {}, read_timeout_seconds=sdk_timeout(timeout), **options)


async def ping(session: Any) -> Any:
    """``send_ping``, which mcp 2.x calls deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pending = session.send_ping()
    return await pending


def is_error(result: Any) -> bool:
    return bool(result.isError if MAJOR == 1 else result.is_error)


def text(result: Any) -> str:
    """The text of a tool result."""
    return "".join(part.text for part in result.content if part.type == "text")


def error_code(error: BaseException) -> int | None:
    """The JSON-RPC code of an SDK error, ``None`` for any other exception."""
    data = getattr(error, "error", None)
    return getattr(data, "code", None)


def innermost(error: BaseException) -> BaseException:
    """The one exception inside nested exception groups, in which the SDK's task groups wrap what leaves a session."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return error
