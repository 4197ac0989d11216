"""Histogram points: each is in the next collection, however few there were, and none is counted twice."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import ExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from harness.servers import HttpServer
from harness.sessions import call_tool, client_session
from otel_mcp import testing
from otel_mcp._ground import guard
from otel_mcp._record.recorder import recorder

pytestmark = pytest.mark.anyio

DURATION = "otel_mcp.client.call.duration"


def points(reader: InMemoryMetricReader, name: str) -> list[HistogramDataPoint | NumberDataPoint]:
    data = reader.get_metrics_data()
    assert data is not None
    metrics = [m for resource in data.resource_metrics for scope in resource.scope_metrics for m in scope.metrics]
    return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


def counted(reader: InMemoryMetricReader) -> int:
    return sum(point.count for point in points(reader, DURATION) if isinstance(point, HistogramDataPoint))


@pytest.mark.parametrize("calls", [1, 7, 8, 9, 40])
async def test_a_collection_has_every_call_that_ended_before_it(calls: int, http: HttpServer) -> None:
    with testing.capture():
        reader = InMemoryMetricReader()
        recorder.bind_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
        async with client_session(http.target) as session:
            for done in range(1, calls + 1):
                await call_tool(session, "echo")
                if done in {1, calls}:
                    assert counted(reader) == done


class Raises(ExemplarFilter):
    """An exemplar filter of the program's that does not work."""

    def should_sample(self, *args: Any, **kwargs: Any) -> bool:
        raise TypeError("a filter of the program's own")


async def test_a_point_that_cannot_be_recorded_costs_no_span_and_no_record(
    http: HttpServer, monkeypatch: pytest.MonkeyPatch, our_warnings: list[str]
) -> None:
    monkeypatch.setattr(guard, "reraise", False)
    monkeypatch.setattr(guard, "_counts", {})
    with testing.capture() as captured:
        provider = MeterProvider([InMemoryMetricReader()], exemplar_filter=Raises(), shutdown_on_exit=False)
        recorder.bind_meter_provider(provider)
        async with client_session(http.target) as session:
            await call_tool(session, "reject")
    assert [span for span in captured.spans if span.name.startswith("tools/call")]
    assert our_warnings.pop().endswith("metrics failed (TypeError); lost: a histogram point")


async def test_a_log_record_of_an_unsampled_call_says_so(http: HttpServer) -> None:
    exporter = InMemoryLogRecordExporter()
    logs = LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    with testing.capture():
        recorder.bind_logger_provider(logs)
        flags = []
        for sampler in (ALWAYS_OFF, ALWAYS_ON):
            recorder.bind_tracer_provider(TracerProvider(sampler, shutdown_on_exit=False))
            async with client_session(http.target) as session:
                await call_tool(session, "echo")
            told = [each.log_record for each in exporter.get_finished_logs()]
            flags.append([record.trace_flags.sampled for record in told if record.event_name == "otel_mcp.call"][-1])
    assert flags == [False, True]


async def test_what_was_gathered_goes_to_the_provider_that_was_there_at_the_call(http: HttpServer) -> None:
    first, second = InMemoryMetricReader(), InMemoryMetricReader()
    with testing.capture():
        recorder.bind_meter_provider(MeterProvider([first], shutdown_on_exit=False))
        async with client_session(http.target) as session:
            await call_tool(session, "echo")
            recorder.bind_meter_provider(MeterProvider([second], shutdown_on_exit=False))
            await call_tool(session, "echo")
    assert (counted(first), counted(second)) == (1, 1)


async def test_a_call_that_went_wrong_keeps_its_link_to_the_span_and_a_quick_good_one_has_none(
    http: HttpServer,
) -> None:
    with testing.capture() as seen:
        reader = InMemoryMetricReader()
        recorder.bind_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
        async with client_session(http.target) as session:
            await call_tool(session, "echo")
            await call_tool(session, "reject")
    linked = {
        point.attributes["otel_mcp.outcome"]: [format(exemplar.span_id, "016x") for exemplar in point.exemplars]
        for point in points(reader, "mcp.client.operation.duration")
        if point.attributes and point.attributes["mcp.method.name"] == "tools/call"
    }
    (failed,) = [span for span in seen.spans if span.attributes.get("gen_ai.tool.name") == "reject"]
    assert linked == {"ok": [], "tool_error": [failed.span_id]}


async def test_threads_that_collect_while_others_call_lose_and_double_nothing(http: HttpServer) -> None:
    with testing.capture():
        reader = InMemoryMetricReader()
        recorder.bind_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
        async with client_session(http.target) as session, anyio.create_task_group() as tasks:

            async def call() -> None:
                for _ in range(30):
                    await call_tool(session, "echo")

            for _ in range(4):
                tasks.start_soon(call)
            for _ in range(20):
                await anyio.to_thread.run_sync(reader.get_metrics_data)
    assert counted(reader) == 120
