"""Attributes that need no cleaning, onto the SDK's own spans in one step.

OpenTelemetry's SDK checks and inserts each attribute by itself, which costs as much as everything else that a span
does. Ours are numbers and short strings. They go straight into the dict of a span that is the SDK's own and has no
limit in their way; every other span gets them by the API.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind, Tracer

_TRACER: Any = None
_SPAN: Any = None
_DO_NOTHING: tuple[Any, ...] = ()
"""What the processors of the SDK do with a span that starts."""
with contextlib.suppress(ImportError, AttributeError):
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import export, sampling

    _DO_NOTHING = tuple(
        kind.on_start for kind in (sdk.SpanProcessor, export.BatchSpanProcessor, export.SimpleSpanProcessor)
    )
    _TRACER, _SPAN = sdk.Tracer, sdk._Span


class _Looked:
    """A tracer and its processors as they were looked at last, and what was found."""

    __slots__ = ("blind", "processors", "tracer")

    def __init__(self, tracer: Any, processors: Any, *, blind: bool) -> None:
        self.tracer = tracer
        self.processors = processors
        self.blind = blind
        """Neither the sampler nor a processor sees the attributes that a span starts with."""


_looked = _Looked(None, None, blind=False)


def works() -> bool:
    """Whether the SDK's spans are of the kind that we know."""
    return _SPAN is not None


def start_span(
    tracer: Tracer,
    name: str,
    context: Context | None,
    kind: SpanKind,
    attributes: dict[str, Any],
    links: Sequence[Link] = (),
) -> Span:
    """A span that starts with these attributes, as far as anybody can see."""
    if type(tracer) is not _TRACER or not _nobody_looks(tracer):
        return tracer.start_span(name, context, kind, attributes, links)
    span = tracer.start_span(name, context, kind, None, links)
    set_attributes(span, attributes)
    return span


def set_attributes(span: Any, attributes: dict[str, Any]) -> None:
    """What `Span.set_attributes` does, for strings, booleans and numbers."""
    if type(span) is _SPAN:
        kept = span._attributes
        known, most = kept._dict, kept.maxlen
        if kept.max_value_len is None and (most is None or len(known) + len(attributes) <= most):
            with span._lock:
                if span._end_time is None:
                    known.update(attributes)
            return
    span.set_attributes(attributes)


def _nobody_looks(tracer: Any) -> bool:
    global _looked
    looked, processors = _looked, tracer.span_processor._span_processors
    if looked.tracer is not tracer or looked.processors is not processors:
        blind = _is_blind(tracer.sampler) and all(map(_does_nothing, processors))
        looked = _looked = _Looked(tracer, processors, blind=blind)
    return looked.blind


def _is_blind(sampler: Any) -> bool:
    """The SDK's samplers decide by trace id and parent; those they delegate to may be the program's."""
    within = [each for each in vars(sampler).values() if isinstance(each, sampling.Sampler)]
    return type(sampler).__module__ == sampling.__name__ and all(map(_is_blind, within))


def _does_nothing(processor: Any) -> bool:
    return "on_start" not in getattr(processor, "__dict__", {}) and type(processor).on_start in _DO_NOTHING


def _tried() -> bool:
    """Whether a span of this SDK takes attributes in that way."""
    attributes = {"text": "a", "number": 1.5}
    try:
        resource = Resource.get_empty()
        provider = sdk.TracerProvider(
            sampling.ALWAYS_ON, resource, shutdown_on_exit=False, span_limits=sdk.SpanLimits()
        )
        span: Any = provider.get_tracer(__name__).start_span("tried")
        set_attributes(span, attributes)
        _nobody_looks(provider.get_tracer(__name__))
        return type(span) is _SPAN and dict(span.attributes) == attributes
    except Exception:  # noqa: BLE001 - an SDK that we do not know gets everything by the API
        return False


if not _tried():
    _TRACER = _SPAN = None
