"""Attributes put onto the SDK's spans in one step: nobody can tell them from those that the API has set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_ON,
    Decision,
    ParentBased,
    ParentBasedTraceIdRatio,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import NoOpTracerProvider, SpanKind, Tracer

from otel_mcp._record import readymade

START = {"mcp.method.name": "tools/call", "server.port": 80}
END = {"otel_mcp.sent": True, "otel_mcp.session.age": 0.5}


class Looks(SpanProcessor):
    """Notes what a span has when it starts."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_start(self, span: Any, parent_context: Context | None = None) -> None:
        self.seen.append(dict(span.attributes))


class Chooses(Sampler):
    """Notes what it was asked for, and adds a word of its own."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        attributes = args[4] if len(args) > 4 else kwargs.get("attributes")
        self.seen.append(attributes and dict(attributes))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, {**(attributes or {}), "chosen": True})

    def get_description(self) -> str:
        return "Chooses"


class Traced:
    """A provider of the real SDK, and the spans that have ended."""

    def __init__(self, *processors: SpanProcessor, sampler: Sampler = DEFAULT_ON, **limits: int) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler, shutdown_on_exit=False, span_limits=SpanLimits(**limits))
        for processor in [SimpleSpanProcessor(self.exporter), *processors]:
            self.provider.add_span_processor(processor)
        self.tracer = self.provider.get_tracer("tests")

    @property
    def ended(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()


def ours(tracer: Tracer, start: dict[str, Any], end: dict[str, Any]) -> None:
    span = readymade.start_span(tracer, "call", None, SpanKind.CLIENT, start)
    readymade.set_attributes(span, end)
    span.end()


def by_the_api(tracer: Tracer, start: dict[str, Any], end: dict[str, Any]) -> None:
    span = tracer.start_span("call", None, SpanKind.CLIENT, start)
    span.set_attributes(end)
    span.end()


values = st.one_of(st.text(max_size=20), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
attributes = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), values, max_size=6)
limits = st.sampled_from([{}, {"max_span_attributes": 4}, {"max_attribute_length": 5}, {"max_span_attributes": 0}])


@given(start=attributes, end=attributes, limits=limits)
@settings(deadline=None)
def test_a_span_ends_with_what_the_api_would_have_put_on_it(
    start: dict[str, Any], end: dict[str, Any], limits: dict[str, int]
) -> None:
    traced = Traced(**limits)
    ours(traced.tracer, start, end)
    by_the_api(traced.tracer, start, end)
    mine, theirs = traced.ended
    assert dict(mine.attributes or {}) == dict(theirs.attributes or {})
    assert mine.dropped_attributes == theirs.dropped_attributes


def test_this_sdk_is_one_that_takes_them_in_one_step() -> None:
    traced = Traced(BatchSpanProcessor(InMemorySpanExporter()))
    assert readymade._nobody_looks(traced.tracer)
    traced.provider.shutdown()


@pytest.mark.parametrize(
    "sampler", [ALWAYS_ON, TraceIdRatioBased(1), ParentBasedTraceIdRatio(1), ParentBased(TraceIdRatioBased(1))]
)
def test_samplers_that_only_look_at_ids_do_not_change_that(sampler: Sampler) -> None:
    assert readymade._nobody_looks(Traced(sampler=sampler).tracer)


def test_a_processor_sees_everything_when_the_span_starts() -> None:
    looks = Looks()
    ours(Traced(looks).tracer, START, END)
    assert looks.seen == [START]


def test_a_processor_that_comes_later_sees_it_too() -> None:
    looks, traced = Looks(), Traced()
    ours(traced.tracer, START, END)
    traced.provider.add_span_processor(looks)
    ours(traced.tracer, START, END)
    assert looks.seen == [START]


def test_a_processor_whose_method_was_replaced_sees_it_too() -> None:
    looks, processor = Looks(), SimpleSpanProcessor(InMemorySpanExporter())
    processor.on_start = looks.on_start  # type: ignore[method-assign]
    ours(Traced(processor).tracer, START, END)
    assert looks.seen == [START]


@pytest.mark.parametrize("wrap", [lambda sampler: sampler, ParentBased], ids=["itself", "below another"])
def test_a_sampler_of_the_program_decides_by_them_and_keeps_its_own(wrap: Any) -> None:
    chooses = Chooses()
    traced = Traced(sampler=wrap(chooses))
    ours(traced.tracer, START, END)
    assert chooses.seen == [START]
    assert traced.ended[0].attributes == {**START, "chosen": True, **END}


def test_a_span_that_nobody_records_and_a_tracer_of_somebody_else_take_them_without_a_word() -> None:
    traced = Traced(sampler=ALWAYS_OFF)
    ours(traced.tracer, START, END)
    ours(NoOpTracerProvider().get_tracer("tests"), START, END)
    assert traced.ended == ()


def test_a_span_that_has_ended_keeps_what_it_had() -> None:
    traced = Traced()
    span = readymade.start_span(traced.tracer, "call", None, SpanKind.CLIENT, START)
    span.end()
    readymade.set_attributes(span, END)
    assert traced.ended[0].attributes == START


def test_an_sdk_whose_spans_keep_them_in_another_way_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert readymade._tried()
    monkeypatch.setattr(ReadableSpan, "attributes", property(lambda span: {}))
    assert not readymade._tried()
