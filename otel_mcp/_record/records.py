"""The call log's events as OpenTelemetry log records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground.text import short
from otel_mcp._ledger.model import Call

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.context import Context

_WARNINGS: Final = frozenset({"still_waiting", "fault", "late_response"})


def emit(
    logger: Logger,
    name: str,
    time_ns: int,
    connector: str | None,
    transport: str | None,
    fields: Mapping[str, Any],
    call: Call | None,
) -> None:
    """One log record: `event_name` is ``otel_mcp.<event>``, each field an attribute ``otel_mcp.<field>``."""
    from opentelemetry._logs import LogRecord, SeverityNumber

    attributes = {f"otel_mcp.{key}": _plain(value) for key, value in fields.items() if value is not None}
    if connector is not None:
        attributes[n.CONNECTOR] = connector
    if transport is not None:
        attributes["otel_mcp.transport"] = transport
    warning = name in _WARNINGS
    logger.emit(
        LogRecord(
            timestamp=time_ns,
            observed_timestamp=time.time_ns(),
            context=_context(call),
            severity_number=SeverityNumber.WARN if warning else SeverityNumber.INFO,
            severity_text="WARN" if warning else "INFO",
            attributes=attributes,
            event_name=f"otel_mcp.{name}",
        )
    )


def _context(call: Call | None) -> Context | None:
    if call is None or not call.trace_id:
        return None
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    flags = TraceFlags(call.trace_flags)
    return set_span_in_context(NonRecordingSpan(SpanContext(call.trace_id, call.span_id, False, flags)))


def _plain(value: Any) -> Any:
    """Attributes take scalars and lists; the mapping of limits becomes ``source=seconds`` strings."""
    if isinstance(value, Mapping):
        return [f"{key}={item}" for key, item in value.items()]
    return short(value) if isinstance(value, str) else value
