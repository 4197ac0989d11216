"""The ways of watching a call that are compared, each set up on the same providers.

Only what one way needs is imported: every peer has an environment of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import metrics as metrics_api
from opentelemetry import trace as trace_api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


class Discard(SpanExporter):
    """An exporter that costs nothing: exporting is not what is measured."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@dataclass
class Sinks:
    """Where spans and points go; by default nowhere, batched as in production."""

    processor: SpanProcessor = field(default_factory=lambda: BatchSpanProcessor(Discard()))
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    datadog: Any = lambda trace: None
    """What Datadog's tracer hands its finished traces to; None drops them."""

    def __post_init__(self) -> None:
        self.traces = TracerProvider()
        self.traces.add_span_processor(self.processor)
        self.metrics = MeterProvider([self.reader])

    def everywhere(self) -> None:
        """Make them the program's global providers."""
        trace_api.set_tracer_provider(self.traces)
        metrics_api.set_meter_provider(self.metrics)


def ours(sinks: Sinks, what: str = "both") -> None:
    os.environ.update(
        OTEL_TRACES_EXPORTER="none",
        OTEL_METRICS_EXPORTER="none",
        OTEL_LOGS_EXPORTER="none",
        OTEL_MCP_SPANS=str(what != "metrics").lower(),
    )
    import otel_mcp

    otel_mcp.instrument(
        tracer_provider=sinks.traces if what != "metrics" else None,
        meter_provider=sinks.metrics if what != "spans" else None,
    )


def sdk(sinks: Sinks, what: str = "spans") -> None:
    """Version 2 of the SDK makes spans as soon as there is a provider; there is no switch."""
    sinks.everywhere()


fastmcp = sdk


def traceloop(sinks: Sinks, what: str = "spans") -> None:
    from opentelemetry.instrumentation.mcp import McpInstrumentor

    sinks.everywhere()
    McpInstrumentor().instrument(tracer_provider=sinks.traces)


def openinference(sinks: Sinks, what: str = "spans") -> None:
    from openinference.instrumentation.mcp import MCPInstrumentor

    sinks.everywhere()
    MCPInstrumentor().instrument(tracer_provider=sinks.traces)


def logfire(sinks: Sinks, what: str = "spans") -> None:
    import logfire as package

    package.configure(
        send_to_logfire=False, console=False, additional_span_processors=[sinks.processor], inspect_arguments=False
    )
    package.instrument_mcp()


def openlit(sinks: Sinks, what: str = "both") -> None:
    import openlit as package

    sinks.everywhere()
    package.init(disable_metrics=what == "spans", disable_events=True)


def ddtrace(sinks: Sinks, what: str = "spans") -> None:
    os.environ.update(DD_INSTRUMENTATION_TELEMETRY_ENABLED="false", DD_REMOTE_CONFIGURATION_ENABLED="false")
    from ddtrace import patch
    from ddtrace.trace import TraceFilter, tracer

    class Taken(TraceFilter):  # type: ignore[misc]
        def process_trace(self, trace: Any) -> Any:
            return sinks.datadog(trace)

    tracer.configure(trace_processors=[Taken()])
    patch(mcp=True)


WAYS: dict[str, Callable[..., None]] = {
    way.__name__: way for way in (ours, sdk, traceloop, openinference, logfire, openlit, ddtrace)
} | {"fastmcp": fastmcp}
