"""``program.py`` with OpenTelemetry of its own, set up once the MCP SDK is imported and kept to the end.

python own_providers.py CONFIG.json WHAT_IT_GOT.json
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import program
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader, records = InMemorySpanExporter(), InMemoryMetricReader(), InMemoryLogRecordExporter()


def set_up() -> tuple[object, object, object]:
    tracer_provider, logger_provider = TracerProvider(), LoggerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    logger_provider.add_log_record_processor(SimpleLogRecordProcessor(records))
    meter_provider = MeterProvider(metric_readers=[reader])
    trace.set_tracer_provider(tracer_provider)
    metrics.set_meter_provider(meter_provider)
    _logs.set_logger_provider(logger_provider)
    return tracer_provider, meter_provider, logger_provider


def got() -> dict[str, Any]:
    data = reader.get_metrics_data()
    metric_points = {
        metric.name: [{**dict(point.attributes or {}), "value": getattr(point, "value", None)} for point in points]
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for points in [metric.data.data_points]
    }
    return {
        "spans": [
            {"name": span.name, "kind": span.kind.name, "method": (span.attributes or {}).get("mcp.method.name")}
            for span in spans.get_finished_spans()
        ],
        "metrics": metric_points,
        "events": [record.log_record.event_name for record in records.get_finished_logs()],
        "kept": [trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider()] == mine,
    }


mine = list(set_up())
asyncio.run(program.main(json.loads(Path(sys.argv[1]).read_text())))
Path(sys.argv[2]).write_text(json.dumps(got()))
print("end", flush=True)
sys.stdin.read()
