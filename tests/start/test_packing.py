"""What waits for its export is bytes, and arrives as the record that it was."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from otel_mcp._start import packing
from otel_mcp._start.pacing import Paced, whole


class Waits:
    """A provider with a batch processor of the SDK; what its exporter got, as it waited and as it is exported."""

    def __init__(self, service: str = "tests", *, pack: bool = True, **limits: int) -> None:
        self.waited: list[Any] = []
        self.spans: Any = BatchSpanProcessor(self)  # type: ignore[arg-type] # no exporter of the SDK's kind
        self.logs: Any = BatchLogRecordProcessor(self)  # type: ignore[arg-type]
        for processor in (self.spans, self.logs) if pack else ():
            packing.pack_what_waits(processor)
        resource = Resource({"service.name": service})
        traces = TracerProvider(resource=resource, shutdown_on_exit=False, span_limits=SpanLimits(**limits))
        traces.add_span_processor(self.spans)
        logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
        logs.add_log_record_processor(self.logs)
        self.tracer = traces.get_tracer("otel_mcp", "1")
        self.logger = logs.get_logger("otel_mcp", "1")

    def export(self, batch: list[Any]) -> None:
        self.waited += batch

    def shutdown(self) -> None: ...

    @property
    def exported(self) -> list[Any]:
        for processor in (self.spans, self.logs):
            processor.force_flush()
            processor.shutdown()
        return list(Paced(self.waited, 1000))


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
atoms = st.text(max_size=20) | st.booleans() | numbers | st.binary(max_size=5)
values = (
    atoms | st.lists(st.text(max_size=5), max_size=3) | st.dictionaries(st.text("ab", min_size=1), numbers, max_size=2)
)
attributes = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), values, max_size=6)
parents = st.none() | st.builds(
    SpanContext, st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans(), st.just(TraceFlags(1))
)
statuses = st.sampled_from([Status(), Status(StatusCode.OK), Status(StatusCode.ERROR, "of the server")])


def around(parent: SpanContext | None) -> Context:
    return Context() if parent is None else set_span_in_context(NonRecordingSpan(parent), Context())


@given(name=st.text(max_size=9), kind=st.sampled_from(SpanKind), parent=parents, its=attributes, status=statuses)
@settings(deadline=None, max_examples=50)
def test_a_span_arrives_as_it_would_have(
    name: str, kind: SpanKind, parent: SpanContext | None, its: dict[str, Any], status: Status
) -> None:
    waits = Waits()
    span: Any = waits.tracer.start_span(name, around(parent), kind, its)
    span.set_status(status)
    span.end()
    exported = waits.exported
    assert type(waits.waited[0]) is bytes
    assert encode_spans(exported) == encode_spans([span])


@given(parent=parents, its=attributes, severity=st.none() | st.sampled_from(SeverityNumber), name=st.none() | st.text())
@settings(deadline=None, max_examples=50)
def test_a_log_record_arrives_as_it_would_have(
    parent: SpanContext | None, its: dict[str, Any], severity: SeverityNumber | None, name: str | None
) -> None:
    packed, plain = Waits(), Waits(pack=False)
    for waits in (packed, plain):
        waits.logger.emit(
            LogRecord(
                timestamp=1,
                observed_timestamp=2,
                context=around(parent),
                severity_number=severity,
                severity_text=severity and severity.name,
                attributes=its,
                event_name=name,
            )
        )
    exported, expected = packed.exported, plain.exported
    assert type(packed.waited[0]) is bytes
    assert encode_logs(exported) == encode_logs(expected)


CONTEXT = SpanContext(1, 2, True, TraceFlags(1), TraceState([("vendor", "1")]))


class Word(str):
    """A text that is more than a text."""

    __slots__ = ()


@pytest.mark.parametrize(
    "made",
    [
        lambda tracer: tracer.start_span("vendor's", around(CONTEXT)),
        lambda tracer: tracer.start_span("dropped", attributes={"a": 1, "b": 2, "c": 3}),
        lambda tracer: tracer.start_span("more", attributes={"a": Word("b")}),
        lambda tracer: tracer.start_span("no room", links=[Link(CONTEXT)]),
    ],
)
def test_what_the_bytes_do_not_hold_waits_as_it_is(made: Any) -> None:
    waits = Waits(max_span_attributes=2, max_links=0)
    span = made(waits.tracer)
    span.end()
    exported = waits.exported
    assert exported == waits.waited
    assert encode_spans(exported) == encode_spans([span])


def test_a_span_with_links_waits_as_it_is() -> None:
    waits = Waits()
    waits.tracer.start_span("linked", links=[Link(CONTEXT)]).end()
    exported = waits.exported
    assert exported == waits.waited
    assert [link.context.span_id for link in exported[0].links] == [2]


def test_an_event_of_somebody_else_keeps_its_span_as_it_is() -> None:
    waits = Waits()
    with waits.tracer.start_as_current_span("call") as span:
        span.add_event("said")
    assert [event.name for event in waits.exported[0].events] == ["said"]


def test_records_of_two_providers_keep_their_resources() -> None:
    waits, other = Waits("one"), Waits("other")
    for tracer in (waits.tracer, other.tracer, waits.tracer):
        tracer.start_span("call").end()
    assert [span.resource for span in waits.exported] == [waits.tracer.resource] * 2  # type: ignore[attr-defined]
    assert other.exported[0].resource is other.tracer.resource  # type: ignore[attr-defined]


def test_with_more_providers_than_anybody_has_they_wait_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_origins", [])
    monkeypatch.setattr(packing, "_MAX_ORIGINS", 1)
    first, second = Waits("one"), Waits("other")
    for waits in (first, second):
        waits.tracer.start_span("call").end()
    assert [span.name for span in (*first.exported, *second.exported)] == ["call", "call"]
    assert [type(each) is bytes for each in (*first.waited, *second.waited)] == [True, False]


def test_an_sdk_that_it_does_not_fit_keeps_its_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packing._MAKE, "span", lambda *fields: None)
    waits = Waits()
    for name in ("first", "second"):
        waits.tracer.start_span(name).end()
    exported = waits.exported
    assert [span.name for span in exported] == ["first", "second"]
    assert exported == waits.waited


def test_a_processor_that_keeps_its_batches_in_another_way_is_left_alone() -> None:
    processor = object()
    packing.pack_what_waits(processor)


def test_an_exporter_that_we_do_not_know_is_given_a_plain_list() -> None:
    waits = Waits()
    waits.tracer.start_span("call").end()
    exported = waits.exported
    given_to_it = whole(waits.waited)
    assert type(given_to_it) is list
    assert [span.to_json() for span in given_to_it] == [span.to_json() for span in exported]
    assert Paced(waits.waited, 8)[0].name == Paced(waits.waited, 8)[:1][0].name == "call"


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """Where connections are taken and nobody answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_while_a_collector_does_not_answer_nothing_waits_that_the_garbage_collector_looks_at(child: Any) -> None:
    with black_hole() as endpoint:
        ended = child(
            """
            import gc
            from opentelemetry._logs import LogRecord
            from opentelemetry.sdk._logs import ReadableLogRecord
            from opentelemetry.sdk.trace import ReadableSpan

            ensure_started()
            tracer, logger = bound["traces"].get_tracer("otel_mcp"), bound["logs"].get_logger("otel_mcp")
            for _ in range(1000):
                tracer.start_span("tools/call add").end()
                logger.emit(LogRecord(timestamp=1, event_name="otel_mcp.call"))
            print(sum(isinstance(each, (ReadableSpan, ReadableLogRecord)) for each in gc.get_objects()))
            """,
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_METRICS_EXPORTER="none",
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE="2048",
            OTEL_BLRP_MAX_EXPORT_BATCH_SIZE="2048",
        )
    assert (ended.code, ended.out) == (0, "0\n")
