"""What a call costs with us, without us, and with the least that anybody could do.

    python benchmarks/cost_per_call.py [--calls 400] [--rounds 15]

One process, one in-memory peer that answers at once, modes in turn within each round, processor time of the thread.
The floor is one CLIENT span with the attributes ours has, and the same two histogram points, written straight to the
OpenTelemetry SDK around the call. The table's last column is what the README of this claim is about: our cost over
the floor's. Prints Markdown.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import ClientSession
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind

from otel_mcp import _sdk
from otel_mcp._ground import names as n
from otel_mcp._record.recorder import recorder

MAJOR = int(importlib.metadata.version("mcp").split(".")[0])
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "peer", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}
Call = Callable[[], Awaitable[Any]]


class Discard(SpanExporter):
    """An exporter that costs nothing: exporting is not what is measured."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


async def peer(read: Any, write: Any) -> None:
    """Answers every request at once, without the SDK's server."""
    types: Any = __import__("mcp.types" if MAJOR == 1 else "mcp_types", fromlist=["JSONRPCResponse"])
    async for item in read:
        message = item.message.root if MAJOR == 1 else item.message
        if hasattr(message, "id"):
            answer = types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=ANSWERS[message.method])
            await write.send(SessionMessage(types.JSONRPCMessage(answer) if MAJOR == 1 else answer))


class Floor:
    """The least: one span and two points, with ready-made attributes."""

    def __init__(self, traces: TracerProvider, metrics: MeterProvider, attributes: dict[str, dict[str, Any]]) -> None:
        self._tracer = traces.get_tracer("floor")
        meter = metrics.get_meter("floor")
        bounds = [0.01, 0.1, 1.0, 10.0]
        self._points = [
            (meter.create_histogram(name, "s", explicit_bucket_boundaries_advisory=bounds), attributes[name])
            for name in ("mcp.client.operation.duration", "otel_mcp.client.call.duration")
        ]
        self._start, self._end = attributes["start"], attributes["end"]

    async def call(self, call: Call, *, spans: bool, metrics: bool) -> None:
        started = time.monotonic()
        span = (
            self._tracer.start_span("tools/call echo", kind=SpanKind.CLIENT, attributes=self._start) if spans else None
        )
        await call()
        if metrics:
            elapsed = time.monotonic() - started
            for histogram, attributes in self._points:
                histogram.record(elapsed, attributes)
        if span is not None:
            span.set_attributes(self._end)
            span.end()


async def measured(calls: int, call: Call) -> float:
    """Microseconds of this thread's processor time a call."""
    before = time.thread_time_ns()
    for _ in range(calls):
        await call()
    return (time.thread_time_ns() - before) / calls / 1000


async def bench(calls: int, rounds: int) -> dict[str, list[float]]:
    traces = TracerProvider()
    traces.add_span_processor(BatchSpanProcessor(Discard()))
    metrics = MeterProvider([InMemoryMetricReader()])
    _sdk.install()
    async with create_client_server_memory_streams() as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(peer, *server)
        async with ClientSession(*client) as session:
            await session.initialize()
            await session.list_tools()

            async def call() -> Any:
                return await session.call_tool("echo", {"a": 1})

            floor = Floor(traces, metrics, await _our_attributes(call, metrics))
            found: dict[str, list[float]] = {}
            for _ in range(rounds):
                for name, spans, points in (("metrics", False, True), ("spans", True, False), ("both", True, True)):
                    _sdk.uninstall()
                    _bind(None, None)
                    found.setdefault(f"bare {name}", []).append(await measured(calls, call))

                    async def least(spans: bool = spans, points: bool = points) -> None:
                        await floor.call(call, spans=spans, metrics=points)

                    found.setdefault(f"floor {name}", []).append(await measured(calls, least))
                    _sdk.install()
                    _bind(traces if spans else None, metrics if points else None)
                    found.setdefault(f"ours {name}", []).append(await measured(calls, call))
        tasks.cancel_scope.cancel()
    return found


def _bind(traces: TracerProvider | None, metrics: MeterProvider | None) -> None:
    recorder.bind_tracer_provider(traces)
    recorder.bind_meter_provider(metrics)


async def _our_attributes(call: Call, metrics: MeterProvider) -> dict[str, dict[str, Any]]:
    """What stands on our span and our points, so that the floor carries the same."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, traces, reader = InMemorySpanExporter(), TracerProvider(), InMemoryMetricReader()
    traces.add_span_processor(SimpleSpanProcessor(kept))
    _bind(traces, MeterProvider([reader]))
    await call()
    (span,) = kept.get_finished_spans()
    ends = {n.OUTCOME, n.BUCKET, n.PHASE, n.SENT, n.SESSION_AGE}
    found: dict[str, dict[str, Any]] = {
        "start": {key: value for key, value in (span.attributes or {}).items() if key not in ends},
        "end": {key: value for key, value in (span.attributes or {}).items() if key in ends},
    }
    data: Any = reader.get_metrics_data()
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        if metric.name.endswith("duration"):
            found[metric.name] = dict(next(iter(metric.data.data_points)).attributes)
    _bind(None, None)
    return found


def report(found: dict[str, list[float]], calls: int, rounds: int) -> str:
    """The table."""
    versions = {name: importlib.metadata.version(name) for name in ("mcp", "opentelemetry-sdk")}
    lines = [
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"median of {rounds} rounds of {calls} calls, processor time.",
        "",
        "| | bare, us | floor adds, us | we add, us | ours / floor |",
        "|---|---|---|---|---|",
    ]
    for name in ("metrics", "spans", "both"):
        bare = statistics.median(found[f"bare {name}"])
        floor = statistics.median(f - b for f, b in zip(found[f"floor {name}"], found[f"bare {name}"], strict=True))
        ours = statistics.median(o - b for o, b in zip(found[f"ours {name}"], found[f"bare {name}"], strict=True))
        lines.append(f"| {name} | {bare:.0f} | {floor:.1f} | {ours:.1f} | {ours / floor:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    print(report(anyio.run(bench, given.calls, given.rounds), given.calls, given.rounds))


if __name__ == "__main__":
    main()
