"""What one way of watching leaves behind of each outcome: ``recording.py WAY SERVER…``.

SERVER is the command line of a server that misbehaves by the tool called. Each outcome has a session, and so a server
process, of its own. It answers the name of an outcome with what the caller got and what was recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

from channel import answer, questions
from mcp import StdioServerParameters
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from transports import MAJOR, stdio
from ways import WAYS, Sinks

LIMIT = 0.3
"""Seconds after which a call is cut off; the server never answers it."""
PATIENCE = 5.0
"""Seconds after which a caller that still waits has, for this purpose, been left to wait for ever."""

Tool = Callable[..., Awaitable[Any]]
"""Calls a tool by its name, with a limit in seconds or None."""


async def _given_up(call: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(call)
    await asyncio.sleep(LIMIT)
    task.cancel()
    return await task


OUTCOMES: dict[str, Callable[[Tool], Awaitable[Any]]] = {
    "ok": lambda tool: tool("echo"),
    "tool error": lambda tool: tool("reject"),
    "JSON-RPC error": lambda tool: tool("rpc_error"),
    "deadline of the SDK": lambda tool: tool("hang", LIMIT),
    "deadline of the caller": lambda tool: asyncio.wait_for(tool("hang"), LIMIT),
    "cancelled": lambda tool: _given_up(tool("hang")),
    "server dies": lambda tool: tool("die"),
}


class Kept:
    """Everything that is recorded, whoever records it."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._datadog: list[Any] = []
        self.sinks = Sinks(SimpleSpanProcessor(self._spans), datadog=self._datadog.extend)
        self._points: dict[str, float] = {}

    def news(self) -> dict[str, Any]:
        """What has come since the last time: spans, and how many metrics have moved."""
        spans = [*map(_told, self._spans.get_finished_spans()), *map(_told_by_datadog, self._datadog)]
        self._spans.clear()
        self._datadog.clear()
        before, self._points = self._points, dict(self._counted())
        moved = {name for name, count in self._points.items() if count != before.get(name, 0)}
        return {"spans": [span for span in spans if span], "metrics": len(moved)}

    def _counted(self) -> Iterator[tuple[str, float]]:
        data: Any = self.sinks.reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                if type(metric.data).__name__ != "Gauge":
                    counts = [getattr(point, "count", getattr(point, "value", 0)) for point in metric.data.data_points]
                    yield metric.name, sum(counts)


def _told(span: Any) -> dict[str, Any] | None:
    has = span.attributes or {}
    if has.get("logfire.span_type") == "pending_span":  # announces a span that follows
        return None
    return {
        "status": span.status.status_code.name,
        "type": has.get("error.type"),
        "exception": next((dict(event.attributes or {}).get("exception.type") for event in span.events), None),
        "outcome": has.get("otel_mcp.outcome"),
        "limit": has.get("otel_mcp.limit.source"),
    }


def _told_by_datadog(span: Any) -> dict[str, Any]:
    return {
        "status": "ERROR" if span.error else "UNSET",
        "type": span.get_tag("error.type"),
        "exception": None,
        "outcome": None,
        "limit": None,
    }


async def outcome(name: str, way: str, kept: Kept, server: list[str]) -> dict[str, Any]:
    """One session and one call in it that ends in this way."""
    parameters = StdioServerParameters(command=server[0], args=server[1:])
    got = "waits for ever"
    opened = asyncio.Event()
    news: dict[str, Any] = {}

    async def live() -> None:
        nonlocal got
        async with (_fastmcp if way == "fastmcp" else _sdk)(parameters) as tool:
            kept.news()
            opened.set()
            got = await _caller(OUTCOMES[name](tool))
            news.update(kept.news())

    task = asyncio.ensure_future(live())
    await asyncio.wait({task, asyncio.ensure_future(opened.wait())}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({task}, timeout=PATIENCE)
    seen = {"caller": got, **(news or kept.news())}
    task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE)
    return seen


async def _caller(call: Awaitable[Any]) -> str:
    """What the caller gets: the result's kind, or the exception's name."""
    try:
        result = await call
    except (Exception, asyncio.CancelledError) as error:
        return type(error).__name__
    return "isError" if getattr(result, "isError", getattr(result, "is_error", False)) else "result"


@contextlib.asynccontextmanager
async def _sdk(parameters: StdioServerParameters) -> AsyncIterator[Tool]:
    async with stdio(parameters) as session:
        await session.initialize()
        await session.list_tools()

        async def tool(name: str, limit: float | None = None) -> Any:
            seconds: Any = timedelta(seconds=limit) if MAJOR == 1 and limit is not None else limit
            return await session.call_tool(name, {}, read_timeout_seconds=seconds)

        yield tool


@contextlib.asynccontextmanager
async def _fastmcp(parameters: StdioServerParameters) -> AsyncIterator[Tool]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(parameters.command, parameters.args, keep_alive=False)) as client:
        await client.list_tools()

        async def tool(name: str, limit: float | None = None) -> Any:
            return await client.call_tool_mcp(name, {}, timeout=limit)

        yield tool


async def main(way: str, server: list[str]) -> None:
    kept = Kept()
    WAYS[way](kept.sinks)
    answer("ready")
    for name in questions():
        answer(await outcome(name, way, kept, server))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
