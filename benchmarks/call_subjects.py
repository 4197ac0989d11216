"""One subject of `cost_per_call.py`: a session whose calls are watched in one of the ways, doing calls when told to.

    python benchmarks/call_subjects.py WAY WHAT

WAY is `bare`, `floor` or `ours`; WHAT is `metrics`, `spans`, `both` or `nothing`.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
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
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
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


def providers() -> tuple[TracerProvider, MeterProvider]:
    traces = TracerProvider()
    traces.add_span_processor(BatchSpanProcessor(Discard()))
    return traces, MeterProvider([InMemoryMetricReader()])


def floor(call: Call, what: str, attributes: dict[str, dict[str, Any]]) -> Call:
    """The least that anybody could do: one CLIENT span that is current during the call, and two points.

    With the attributes ours have, ready-made, and the bare OpenTelemetry SDK.
    """
    traces, metrics = providers()
    tracer = traces.get_tracer("floor")
    meter = metrics.get_meter("floor")
    bounds = [0.01, 0.1, 1.0, 10.0]
    points = [
        (meter.create_histogram(name, "s", explicit_bucket_boundaries_advisory=bounds).record, attributes[name])
        for name in ("mcp.client.operation.duration", "otel_mcp.client.call.duration")
    ]

    async def measured() -> None:
        started = time.monotonic()
        await call()
        elapsed = time.monotonic() - started
        for record, labels in points:
            record(elapsed, labels)

    async def traced(inner: Call) -> None:
        with tracer.start_as_current_span(
            "tools/call echo", kind=SpanKind.CLIENT, attributes=attributes["start"], record_exception=False
        ) as span:
            await call()
            span.set_attributes(attributes["end"])

    async def both() -> None:
        started = time.monotonic()
        with tracer.start_as_current_span(
            "tools/call echo", kind=SpanKind.CLIENT, attributes=attributes["start"], record_exception=False
        ) as span:
            await call()
            span.set_attributes(attributes["end"])
        elapsed = time.monotonic() - started
        for record, labels in points:
            record(elapsed, labels)

    async def spans() -> None:
        await traced(call)

    return {"metrics": measured, "spans": spans, "both": both}[what]


async def ours(call: Call, what: str) -> Call:
    """Our hooks, on providers of their own."""
    traces, metrics = providers()
    bind(traces if what in {"spans", "both"} else None, metrics if what in {"metrics", "both"} else None)
    return call


def bind(traces: TracerProvider | None, metrics: MeterProvider | None) -> None:
    recorder.bind_tracer_provider(traces)
    recorder.bind_meter_provider(metrics)


async def our_attributes(call: Call) -> dict[str, dict[str, Any]]:
    """What stands on our span and our points, so that the floor carries the same."""
    kept, traces, reader = InMemorySpanExporter(), TracerProvider(), InMemoryMetricReader()
    traces.add_span_processor(SimpleSpanProcessor(kept))
    bind(traces, MeterProvider([reader]))
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
    bind(None, None)
    return found


async def obey(call: Call) -> None:
    """Do as many calls as each line of the standard input says; print the processor time of one, microseconds."""
    print(json.dumps({"ready": True}), flush=True)
    while line := sys.stdin.readline():
        count = int(line)
        before = time.thread_time_ns()
        for _ in range(count):
            await call()
        print((time.thread_time_ns() - before) / count / 1000, flush=True)


async def main(way: str, what: str) -> None:
    if way != "bare":
        _sdk.install()
    async with create_client_server_memory_streams() as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(peer, *server)
        async with ClientSession(*client) as session:
            await session.initialize()
            await session.list_tools()

            async def call() -> Any:
                return await session.call_tool("echo", {"a": 1})

            if way == "floor":
                attributes = await our_attributes(call)
                _sdk.uninstall()
                await obey(floor(call, what, attributes))
            else:
                await obey(call if way == "bare" else await ours(call, what))
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
