"""The MCP SDK, 1.x and 2.x, as the connector needs it. Imported late: the rest of this package works without it.

Both majors are typed differently, so what comes from the SDK is `Any` here and nowhere else.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from otel_mcp.resilience._classify import rpc_code
from otel_mcp.resilience._errors import ResilienceError

Target = Any
"""``StdioServerParameters``, a URL, or a function that returns an async context manager of (read, write, …)."""

IDEMPOTENCY_KEY = "otel-mcp/idempotency-key"
METHOD_NOT_FOUND = -32601
_UNSUPPORTED_PROTOCOL_VERSION = -32022
_PINGLESS_FROM = "2026-07-28"
"""The first protocol revision without ``ping``. Revisions are dates, so they compare as text."""
_MAX_PAGES = 1000
"""A server whose cursor never ends would otherwise be listed for ever within a long deadline."""


def check_target(target: Target) -> None:
    """Raises TypeError for what cannot be connected to."""
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        return
    if not isinstance(target, str) and (hasattr(target, "command") or callable(target)):
        return
    raise TypeError(f"target must be StdioServerParameters, an http(s) URL or a transport factory, got {target!r:.80}")


def open_streams(target: Target, on_status: Callable[[int], None]) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    """The transport's two streams. `on_status` hears the status of each POST that failed."""
    if isinstance(target, str):
        return _http_streams(target, on_status)
    if hasattr(target, "command"):
        stdio: Any = importlib.import_module("mcp.client.stdio")
        return _first_two(stdio.stdio_client(target))
    return _first_two(target())


def new_session(read: Any, write: Any) -> AbstractAsyncContextManager[Any]:
    """A client session on two streams."""
    mcp: Any = importlib.import_module("mcp")
    session: AbstractAsyncContextManager[Any] = mcp.ClientSession(read, write)
    return session


async def handshake(session: Any) -> str | None:
    """Agree on a protocol revision and return it.

    ``initialize`` first, although 2.x can also open with ``server/discover``: servers of the older revisions answer
    an unknown first request with silence often enough to cost ten seconds a connect. A server that knows only newer
    revisions says so at once.
    """
    try:
        result = await session.initialize()
    except Exception as error:
        newer = rpc_code(error) in (METHOD_NOT_FOUND, _UNSUPPORTED_PROTOCOL_VERSION)
        if not newer or not hasattr(session, "discover"):
            raise
        await session.discover()
        revision = session.protocol_version
    else:
        revision = getattr(result, "protocol_version", None) or getattr(result, "protocolVersion", None)
    return revision if isinstance(revision, str) else None


def has_ping(revision: str | None) -> bool:
    """Whether this protocol revision knows ``ping``."""
    return revision is None or revision < _PINGLESS_FROM


async def call_tool(session: Any, tool: str, arguments: dict[str, Any] | None, key: str | None) -> Any:
    """One ``tools/call``, with the idempotency key in ``_meta`` if there is one."""
    if key is None:
        return await session.call_tool(tool, arguments)
    if "meta" not in inspect.signature(session.call_tool).parameters:
        raise ResilienceError("this version of mcp cannot send _meta with a tool call; an idempotency key needs 1.23")
    return await session.call_tool(tool, arguments, meta={IDEMPOTENCY_KEY: key})


async def read_resource(session: Any, uri: str) -> Any:
    """One ``resources/read``."""
    # 1.x wants a pydantic URL and would refuse the string; 2.x wants the string.
    return await session.read_resource(uri if _is_second_major() else _any_url(uri))


async def get_prompt(session: Any, name: str, arguments: dict[str, str] | None) -> Any:
    """One ``prompts/get``."""
    return await session.get_prompt(name, arguments)


async def list_tools(session: Any) -> Any:
    """All pages of ``tools/list``, as the last page with all tools in it."""
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await _tools_page(session, cursor)
        tools += page.tools
        cursor = getattr(page, "nextCursor", None) or getattr(page, "next_cursor", None)
        if not cursor:
            return page.model_copy(update={"tools": tools})
    raise ResilienceError(f"tools/list has no end: {_MAX_PAGES} pages and still a next one")


async def list_once(session: Any) -> Any:
    """One page of ``tools/list``: enough to see whether anybody is there."""
    return await session.list_tools()


async def ping(session: Any) -> Any:
    """One ``ping``."""
    return await session.send_ping()


async def say_cancelled(session: Any, request_id: Any) -> None:
    """Tell the server that nobody waits any more, as the protocol asks. 2.x does it itself, 1.x never does."""
    if _is_second_major():
        return
    types: Any = importlib.import_module("mcp.types")
    params = types.CancelledNotificationParams(requestId=request_id, reason="time limit or cancellation of the caller")
    await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))


def is_read_only(tool: Any) -> bool:
    """Whether the server says that the tool changes nothing."""
    hints = getattr(tool, "annotations", None)
    return getattr(hints, "readOnlyHint", None) is True or getattr(hints, "read_only_hint", None) is True


async def _tools_page(session: Any, cursor: str | None) -> Any:
    if cursor is None:
        return await session.list_tools()
    if "params" in inspect.signature(session.list_tools).parameters:
        types: Any = importlib.import_module("mcp.types")
        return await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
    return await session.list_tools(cursor)


def _is_second_major() -> bool:
    mcp: Any = importlib.import_module("mcp")
    return hasattr(mcp, "MCPError")


def _any_url(uri: str) -> Any:
    pydantic: Any = importlib.import_module("pydantic")
    return pydantic.AnyUrl(uri)


@asynccontextmanager
async def _first_two(streams: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
    """HTTP in 1.x yields a third item, the session id's getter."""
    async with streams as opened:
        yield opened[0], opened[1]


@asynccontextmanager
async def _http_streams(url: str, on_status: Callable[[int], None]) -> AsyncIterator[tuple[Any, Any]]:
    http: Any = importlib.import_module("mcp.client.streamable_http")
    utils: Any = importlib.import_module("mcp.shared._httpx_utils")

    # The SDK keeps the status of a failed POST to itself (1.x in a dead task group, 2.x behind one code for all), and
    # 401, 429 and 503 call for different answers. A GET's 405 is a server without a stream of its own: no failure.
    async def look(response: Any) -> None:
        if response.status_code >= 400 and response.request.method == "POST":
            on_status(response.status_code)

    def make_client(**options: Any) -> Any:
        client = utils.create_mcp_http_client(**options)
        client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks["response"], look]}
        return client

    if not hasattr(http, "streamable_http_client"):  # before mcp 1.24, which takes a client that is made
        async with _first_two(http.streamablehttp_client(url, httpx_client_factory=make_client)) as streams:
            yield streams
        return
    async with make_client() as client, _first_two(http.streamable_http_client(url, http_client=client)) as streams:
        yield streams
