"""Trace context as a request carries it, by the program's propagators.

Not to be loaded where ``OTEL_PROPAGATORS`` keeps OpenTelemetry from loading them: a ValueError.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry import propagate
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_W3C: Final = {TraceContextTextMapPropagator, W3CBaggagePropagator}
_FLAGS: Final = [format(flags, "02x") for flags in range(256)]

_seen: tuple[Any, bool] = (None, False)
"""The propagator that was looked at last, and whether it writes W3C's headers and no others."""


def carrier(span: SpanContext, context: Context) -> dict[str, str]:
    """What the global propagator has to say of this context, in which that span is current.

    Without baggage, vendor's state and foreign propagators that is a `traceparent` and nothing else. It is written
    here, without the detour through OpenTelemetry's two propagators.
    """
    global _seen
    propagator = propagate.get_global_textmap()
    if _seen[0] is not propagator:
        _seen = propagator, _is_w3c(propagator)
    if _seen[1] and len(context) == 1 and not span.trace_state:
        trace, parent = span.trace_id.to_bytes(16, "big"), span.span_id.to_bytes(8, "big")
        return {"traceparent": f"00-{trace.hex()}-{parent.hex()}-{_FLAGS[span.trace_flags]}"}
    found: dict[str, str] = {}
    propagate.inject(found, context)
    return found


def _is_w3c(propagator: Any) -> bool:
    within = {type(each) for each in getattr(propagator, "_propagators", ())}
    return type(propagator) is CompositePropagator and TraceContextTextMapPropagator in within and within <= _W3C
