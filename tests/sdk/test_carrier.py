"""Trace context as a request carries it: the same as OpenTelemetry's own propagators write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, propagate
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_mcp._sdk.carrier import carrier

ids = {"trace_id": st.integers(1, 2**128 - 1), "span_id": st.integers(1, 2**64 - 1), "flags": st.integers(0, 255)}
states = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


class Foreign(TextMapPropagator):
    """A propagator that writes a header of its own."""

    def inject(self, carrier: Any, context: Context | None = None, setter: Any = None) -> None:
        carrier["x-foreign"] = "1"

    def extract(self, carrier: Any, context: Context | None = None, getter: Any = None) -> Context:
        return context or Context()

    @property
    def fields(self) -> set[str]:
        return {"x-foreign"}


@pytest.fixture
def propagator() -> Iterator[None]:
    before = propagate.get_global_textmap()
    yield
    propagate.set_global_textmap(before)


def told(span: SpanContext, context: Context) -> tuple[dict[str, str], dict[str, str]]:
    """What we say, and what OpenTelemetry says."""
    theirs: dict[str, str] = {}
    propagate.inject(theirs, context)
    return carrier(span, context), theirs


def begun(trace_id: int, span_id: int, flags: int = 1, **state: str) -> tuple[SpanContext, Context]:
    span = SpanContext(trace_id, span_id, False, TraceFlags(flags), TraceState(list(state.items())))
    return span, set_span_in_context(NonRecordingSpan(span), Context())


@given(**ids, state=states, luggage=states)
@settings(max_examples=50, deadline=None)
def test_it_is_what_the_propagators_write(
    trace_id: int, span_id: int, flags: int, state: dict[str, str], luggage: dict[str, str]
) -> None:
    span, context = begun(trace_id, span_id, flags, **state)
    for key, value in luggage.items():
        context = baggage.set_baggage(key, value, context)
    ours, theirs = told(span, context)
    assert ours == theirs


@pytest.mark.usefixtures("propagator")
@pytest.mark.parametrize(
    "chosen",
    [
        TraceContextTextMapPropagator(),
        CompositePropagator([TraceContextTextMapPropagator()]),
        CompositePropagator([]),
        CompositePropagator([TraceContextTextMapPropagator(), Foreign()]),
        Foreign(),
    ],
)
def test_a_propagator_that_the_program_chooses_later_is_the_one_that_is_asked(chosen: TextMapPropagator) -> None:
    span, context = begun(1, 2)
    assert set(carrier(span, context)) == {"traceparent"}
    propagate.set_global_textmap(chosen)
    ours, theirs = told(span, context)
    assert ours == theirs
