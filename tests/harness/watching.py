"""This process watched as a program would be, with what was seen kept in memory and in a call log."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_mcp
from harness.children import events, read_jsonl
from otel_mcp._ground import guard, patching
from otel_mcp._ledger.ledger import ledger


class Watched:
    """What was seen since ``watching`` began."""

    def __init__(self, call_log: Path, spans: InMemorySpanExporter, metrics: InMemoryMetricReader) -> None:
        self._call_log = call_log
        self._spans = spans
        self._metrics = metrics
        self._hooks: dict[tuple[str, str], int] = {}

    def finish(self) -> None:
        """Stop watching; the call log is whole then. Doing it twice is doing it once."""
        if not self._hooks:
            self._hooks = patching.counts()
        otel_mcp.uninstrument()

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The call log's lines of one event, in order; stops watching."""
        self.finish()
        return events(read_jsonl(self._call_log), event)

    def call(self, number: int = -1) -> dict[str, Any]:
        """One `call` line, the last one unless told otherwise."""
        return self.lines("call")[number]

    def spans(self, *, scope: str = "otel_mcp") -> list[ReadableSpan]:
        """The spans of one instrumentation scope that have ended, in the order of their ends."""
        return [
            span
            for span in self._spans.get_finished_spans()
            if span.instrumentation_scope is not None and span.instrumentation_scope.name == scope
        ]

    def points(self, instrument: str) -> list[tuple[dict[str, Any], Any]]:
        """(attributes, value or histogram count) of each point of an instrument."""
        data = self._metrics.get_metrics_data()
        return [
            (dict(point.attributes), getattr(point, "value", None) if hasattr(point, "value") else point.count)
            for resource in (data.resource_metrics if data is not None else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == instrument
            for point in metric.data.data_points
        ]

    def hooks(self, target: str) -> dict[str, int]:
        """Number of patch points of a hook target by state, as they stood before ``finish``."""
        counts = self._hooks or patching.counts()
        return {state: count for (name, state), count in counts.items() if name == target}


@contextlib.contextmanager
def watching(call_log: Path, **environ: str) -> Iterator[Watched]:
    """Watches this process for the block; a fault of ours raises. ``environ`` holds variables of ours."""
    chosen = {"OTEL_MCP_CALL_LOG": str(call_log), **environ}
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    spans, metrics = InMemorySpanExporter(), InMemoryMetricReader()
    tracer_provider, meter_provider = TracerProvider(), MeterProvider([metrics])
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    raised, guard.reraise = guard.reraise, True
    otel_mcp.instrument(tracer_provider=tracer_provider, meter_provider=meter_provider)
    watched = Watched(call_log, spans, metrics)
    try:
        yield watched
    finally:
        watched.finish()
        guard.reraise = raised
        ledger.reset()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        meter_provider.shutdown()
        tracer_provider.shutdown()
