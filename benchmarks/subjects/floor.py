"""The least that anybody could do: one CLIENT span that is current while the call runs, and two histogram points.

With the attributes ours have, ready-made, and the bare OpenTelemetry SDK.
"""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from transports import Call
from ways import Sinks, ours

_AT_THE_END = ("otel_mcp.outcome", "otel_mcp.bucket", "otel_mcp.phase", "otel_mcp.sent", "otel_mcp.session.age")
_POINTS = ("mcp.client.operation.duration", "otel_mcp.client.call.duration")
_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600]

Attributes = dict[str, dict[str, Any]]


def watch_once() -> tuple[InMemorySpanExporter, Sinks]:
    """Our own telemetry, kept: one call tells what stands on our span and on our points."""
    kept = InMemorySpanExporter()
    sinks = Sinks(SimpleSpanProcessor(kept))
    ours(sinks)
    return kept, sinks


def attributes(kept: InMemorySpanExporter, sinks: Sinks) -> Attributes:
    """What the last call has left there; afterwards nothing is watched."""
    import otel_mcp

    span = kept.get_finished_spans()[-1]
    given = dict(span.attributes or {})
    found: Attributes = {
        "start": {key: value for key, value in given.items() if key not in _AT_THE_END},
        "end": {key: value for key, value in given.items() if key in _AT_THE_END},
    }
    data: Any = sinks.reader.get_metrics_data()
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        if metric.name in _POINTS:
            found[metric.name] = dict(list(metric.data.data_points)[-1].attributes)
    otel_mcp.uninstrument()
    return found


def floor(call: Call, what: str, carried: Attributes) -> Call:
    """`call` with `metrics`, `spans` or `both` around it."""
    sinks = Sinks()
    tracer = sinks.traces.get_tracer("floor")
    meter = sinks.metrics.get_meter("floor")
    points = [
        (meter.create_histogram(name, "s", explicit_bucket_boundaries_advisory=_BOUNDS).record, carried[name])
        for name in _POINTS
    ]

    async def metrics() -> None:
        started = time.monotonic()
        await call()
        elapsed = time.monotonic() - started
        for record, labels in points:
            record(elapsed, labels)

    async def spans() -> None:
        with tracer.start_as_current_span(
            "tools/call echo", kind=SpanKind.CLIENT, attributes=carried["start"], record_exception=False
        ) as span:
            await call()
            span.set_attributes(carried["end"])

    async def both() -> None:
        started = time.monotonic()
        with tracer.start_as_current_span(
            "tools/call echo", kind=SpanKind.CLIENT, attributes=carried["start"], record_exception=False
        ) as span:
            await call()
            span.set_attributes(carried["end"])
        elapsed = time.monotonic() - started
        for record, labels in points:
            record(elapsed, labels)

    return {"metrics": metrics, "spans": spans, "both": both}[what]
