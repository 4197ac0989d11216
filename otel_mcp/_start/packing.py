"""Records that wait for their export as bytes.

A span is a dozen objects that Python's garbage collector looks at, and thousands of spans wait while a collector is
ill. It goes through all of them again and again, in the middle of a call of the program as often as not: 10 to 30 ms at
a time. Bytes it does not look at.

What does not fit into the form below waits as the object that it is.
"""

from __future__ import annotations

import contextlib
import marshal
from collections.abc import Callable
from typing import Any, Final

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

_MAX_ORIGINS: Final = 64
"""A provider has one resource, and those of one process mostly have the same."""
_UNSET: Final = Status()

_Origin = tuple[Resource, InstrumentationScope | None]
_origins: list[_Origin] = []
"""What records have in common with others of their provider; they carry its place in this list."""


def pack_what_waits(processor: Any) -> None:
    """From now on each record of a batch processor of the SDK waits as bytes; `unpacked` gives it back.

    Does nothing where the SDK keeps its batches in another way.
    """
    batch: Any = getattr(processor, "_batch_processor", None)
    emit = getattr(batch, "emit", None)
    if emit is not None:
        batch.emit = _Packing(emit)


class _Packing:
    """`emit` of a batch processor, with packed records."""

    def __init__(self, emit: Callable[[Any], None]) -> None:
        self._emit = emit
        self._pack = self._packed_on_trial

    def __call__(self, record: Any) -> None:
        packed = None
        with contextlib.suppress(Exception):  # whatever it holds, it is exported as it is
            packed = self._pack(record)
        self._emit(record if packed is None else packed)

    def _packed_on_trial(self, record: Any) -> bytes | None:
        """The first that has a form as bytes is unpacked again: an SDK that it does not fit to keeps its objects."""
        packed = _packed(record)
        if packed is not None:
            self._pack = _packed if _is_as_before(packed, record) else _not_at_all
            packed = self._pack(record)
        return packed


def _not_at_all(record: Any) -> None:
    """Of an SDK that we do not know."""


def _is_as_before(packed: bytes, record: Any) -> bool:
    try:
        return _fields(unpacked(packed)) == _fields(record)
    except Exception:  # noqa: BLE001 - an SDK that we do not know has other fields
        return False


def _packed(record: Any) -> bytes | None:
    """The record as bytes; None where they would not hold all of it.

    Raises:
        ValueError: a value is neither text nor number nor bytes nor a sequence or mapping of these.
        LookupError: it comes from one provider too many.
    """
    fields = _fields(record)
    return None if fields is None else marshal.dumps(fields)


def _fields(record: Any) -> tuple[Any, ...] | None:
    return _of_span(record) if isinstance(record, ReadableSpan) else _of_log(record)


def unpacked(record: Any) -> Any:
    """The record that was packed; any other object as it is."""
    if type(record) is not bytes:
        return record
    kind, place, *fields = marshal.loads(record)  # noqa: S302 - our own bytes, that never left the process
    return _MAKE[kind](_origins[place], *fields)


def _origin(resource: Resource, scope: InstrumentationScope | None) -> int:
    for place, known in enumerate(_origins):
        if known[0] is resource and known[1] is scope:
            return place
    if (resource, scope) in _origins:
        return _origins.index((resource, scope))
    if len(_origins) >= _MAX_ORIGINS:
        raise LookupError("more providers than anybody has")
    _origins.append((resource, scope))
    return _origins.index((resource, scope))  # another thread may have added one beside it


def _attributes(keys_and_values: tuple[Any, ...]) -> dict[str, Any]:
    half = len(keys_and_values) // 2
    return dict(zip(keys_and_values[:half], keys_and_values[half:], strict=True))


# --- spans --------------------------------------------------------------------------------------------------------
def _of_span(span: Any) -> tuple[Any, ...] | None:
    # The public properties make copies of what is looked at here; the first span has shown that these are there.
    own, parent, status = span._context, span._parent, span._status
    if span._links or span._events or own.trace_state or (parent and parent.trace_state):
        return None
    if span.dropped_attributes or span.dropped_events or span.dropped_links:
        return None
    its = span._attributes.copy()
    return (
        "span",
        _origin(span._resource, span._instrumentation_scope),
        span._name,
        span._kind.value,
        own.trace_id,
        own.span_id,
        int(own.trace_flags),
        *((0, False, 0) if parent is None else (parent.span_id, parent.is_remote, int(parent.trace_flags))),
        status.status_code.value,
        status.description,
        span._start_time,
        span._end_time,
        *its,
        *its.values(),
    )


def _make_span(
    origin: _Origin,
    name: str,
    kind: int,
    trace_id: int,
    span_id: int,
    flags: int,
    parent_id: int,
    parent_is_remote: bool,
    parent_flags: int,
    status: int,
    description: str | None,
    start_time: int,
    end_time: int,
    *attributes: Any,
) -> ReadableSpan:
    resource, scope = origin
    return ReadableSpan(
        name,
        SpanContext(trace_id, span_id, False, TraceFlags(flags)),
        SpanContext(trace_id, parent_id, parent_is_remote, TraceFlags(parent_flags)) if parent_id else None,
        resource,
        _attributes(attributes),
        kind=SpanKind(kind),
        status=Status(StatusCode(status), description) if status else _UNSET,
        start_time=start_time,
        end_time=end_time,
        instrumentation_scope=scope,
    )


# --- log records --------------------------------------------------------------------------------------------------
def _of_log(readable: ReadableLogRecord) -> tuple[Any, ...] | None:
    record = readable.log_record
    if readable.dropped_attributes or record.exception is not None:
        return None
    severity = record.severity_number
    attributes: Any = record.attributes
    its = attributes.copy() if attributes else {}
    return (
        "log",
        _origin(readable.resource, readable.instrumentation_scope),
        record.timestamp,
        record.observed_timestamp,
        record.trace_id,
        record.span_id,
        int(record.trace_flags),
        record.severity_text,
        None if severity is None else severity.value,
        record.body,
        record.event_name,
        *its,
        *its.values(),
    )


def _make_log(
    origin: _Origin,
    timestamp: int | None,
    observed_timestamp: int | None,
    trace_id: int,
    span_id: int,
    flags: int,
    severity_text: str | None,
    severity: int | None,
    body: Any,
    event_name: str | None,
    *attributes: Any,
) -> ReadableLogRecord:
    span = NonRecordingSpan(SpanContext(trace_id, span_id, False, TraceFlags(flags)))
    record = LogRecord(
        timestamp=timestamp,
        observed_timestamp=observed_timestamp,
        context=set_span_in_context(span, Context()),
        severity_text=severity_text,
        severity_number=None if severity is None else SeverityNumber(severity),
        body=body,
        attributes=_attributes(attributes),
        event_name=event_name,
    )
    return ReadableLogRecord(record, *origin)  # its limits have done their work


_MAKE: Final[dict[str, Callable[..., Any]]] = {"span": _make_span, "log": _make_log}
