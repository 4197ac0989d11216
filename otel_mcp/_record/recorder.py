"""The recorder: turns what the ledger knows into spans, points, log records and lines.

Start-up binds it to providers; while nothing is bound it makes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.settings import Settings
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Attempt, Call, Session
from otel_mcp._record import events, points, records, spans
from otel_mcp._record.metrics import Metrics
from otel_mcp._version import __version__

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider

Fields = Mapping[str, Any] | Callable[[], Mapping[str, Any]]


class Sink(Protocol):
    """Takes events off the caller's thread: the call log."""

    def put(self, event: str, time_ns: int, connector: str | None, transport: str | None, fields: Fields) -> None:
        """Queue one event; never blocks, never raises."""


class Recorder:
    """One a process; `recorder` below."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.tracer: Tracer | None = None
        self.logger: Logger | None = None
        self.call_log: Sink | None = None
        self.metrics = Metrics(ledger)
        self.before_attempt: Callable[[], None] | None = None
        self._nowhere: Any = None
        """A context without a span."""

    # --- providers ----------------------------------------------------------------------------------------------

    def bind_tracer_provider(self, provider: TracerProvider | None) -> None:
        """Spans go to this provider from now on; None: no spans."""
        wanted = provider is not None and self.settings.spans
        self.tracer = provider.get_tracer(n.SCOPE, __version__) if wanted and provider else None

    def bind_meter_provider(self, provider: MeterProvider | None) -> None:
        """Points go to this provider from now on; None: no metrics."""
        from opentelemetry.context import Context

        self._nowhere = Context()
        self.metrics.bind(provider, __version__)

    def bind_logger_provider(self, provider: LoggerProvider | None) -> None:
        """Log records go to this provider from now on; None: no log records."""
        self.logger = provider.get_logger(n.SCOPE, __version__) if provider is not None else None

    def reset(self) -> None:
        """After a fork: nothing is bound."""
        self.tracer = self.logger = self.call_log = None
        self.metrics = Metrics(ledger)

    # --- attempts -----------------------------------------------------------------------------------------------

    def attempt_started(self, attempt: Attempt) -> None:
        """Start the attempt's span; `attempt.context` then holds the context in which it is current."""
        tracer = self.tracer
        if tracer is None:
            return
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context

        name = spans.attempt_name(ledger.labels, attempt)
        call = attempt.call
        parent = None
        if attempt.probe is not None or attempt.unasked:
            parent = Context()
        elif call is not None and call.span is not None and call.own_span:
            parent = set_span_in_context(call.span)
        links = spans.links_of_overlapped(attempt) if attempt.probe is not None else []
        span = spans.start_attempt(tracer, name, attempt, parent, links)
        attempt.span = span
        if span.get_span_context().is_valid:
            attempt.context = set_span_in_context(span, parent)
            if call is not None and not call.span_id:
                context = span.get_span_context()
                call.trace_id, call.span_id = context.trace_id, context.span_id

    def attempt_ended(self, attempt: Attempt, verdict: Verdict, elapsed: float) -> None:
        """One histogram point, and the end of the span."""
        if self.metrics.bound:
            row = c.OPERATION_DURATION
            self.metrics.record(
                row, elapsed, self._operation(attempt, verdict), self._exemplar(attempt, verdict, elapsed)
            )
        span = attempt.span
        if span is not None:
            if attempt.target is not None and verdict.outcome is Outcome.OK:
                spans.late_name(span, attempt.session.connector, attempt.method, attempt.target, answered=True)
            spans.end_attempt(span, attempt, verdict)

    def _exemplar(self, attempt: Attempt, verdict: Verdict, elapsed: float) -> Any:
        """The context a point is linked to a span by: of what went wrong or took long.

        An exemplar costs as much again as the point, and nobody looks for one quick good answer among thousands.
        """
        return self._nowhere if verdict.outcome is Outcome.OK and elapsed < _QUICK else attempt.context

    def _operation(self, attempt: Attempt, verdict: Verdict) -> dict[str, Any]:
        folded = (*points.FOLDED_OPERATION, verdict.outcome, None, None, None, None)
        key = points.operation_key(attempt, verdict)
        return self.metrics.attributes(c.OPERATION_DURATION, key, folded, points.operation)

    # --- calls ----------------------------------------------------------------------------------------------------

    def call_started(self, call: Call) -> None:
        """A span of its own for a call that a layer above the SDK opened, unless an `execute_tool` span is there."""
        if self.tracer is None or not call.layered:
            return
        from opentelemetry.trace import SpanKind, get_current_span

        above = get_current_span()
        if above.is_recording() and spans.is_execute_tool(above):
            call.span, call.own_span = above, False
        else:
            label = spans.target_label(ledger.labels, call.connector, call.target) or call.method
            call.span = self.tracer.start_span(f"call {label}", kind=SpanKind.INTERNAL)
        context = call.span.get_span_context()
        call.trace_id, call.span_id = context.trace_id, context.span_id

    def call_ended(self, call: Call, verdict: Verdict) -> None:
        """One histogram point, the span's end, one `call` event."""
        connector = call.connector.name
        if self.metrics.bound:
            attributes = self.metrics.attributes(
                c.CALL_DURATION, (connector, verdict.outcome), (n.OTHER, verdict.outcome), points.call
            )
            quick = verdict.outcome is Outcome.OK and call.elapsed < _QUICK
            self.metrics.record(c.CALL_DURATION, call.elapsed, attributes, self._nowhere if quick else None)
        if call.span is not None:
            if call.own_span and call.target is not None:
                spans.late_name(call.span, call.connector, "call", call.target, answered=False)
            spans.end_call(call.span, call, verdict, own=call.own_span)
        session = call.session
        kind = session.transport.kind if session is not None else None
        self.event("call", call.started_ns, call.name, kind, lambda: events.call_fields(call, verdict), call)

    # --- everything else --------------------------------------------------------------------------------------------

    def session_ended(self, session: Session, age: float, error: str | None) -> None:
        """One point of `mcp.client.session.duration`."""
        if not self.metrics.bound:
            return
        key = (session.connector.name, error, session.protocol, session.transport.kind)
        attributes = self.metrics.attributes(c.SESSION_DURATION, key, (n.OTHER, None, None, None), points.session)
        self.metrics.record(c.SESSION_DURATION, age, attributes)

    def connected(self, connector: Connector, verdict: Verdict, reason: str, elapsed: float) -> None:
        """One point of `otel_mcp.client.connect.duration`."""
        self._simple(
            c.CONNECT_DURATION, elapsed, {n.CONNECTOR: connector.name, n.OUTCOME: verdict.outcome.value,
                                          n.CONNECT_REASON: reason}
        )  # fmt: skip

    def current_span_context(self) -> Any:
        """Context of the span that is current, if it is valid and anybody records spans."""
        if self.tracer is None:
            return None
        from opentelemetry.trace import get_current_span

        context = get_current_span().get_span_context()
        return context if context.is_valid else None

    def connect_span(self, session: Session, verdict: Verdict, started_ns: int) -> None:
        """The span of one connect: a root, linked to what asked for it."""
        if self.tracer is None:
            return
        from opentelemetry.context import Context
        from opentelemetry.trace import Link, SpanKind

        links = [Link(session.asked_by)] if session.asked_by is not None else None
        span = self.tracer.start_span(
            f"connect {session.connector.name}", Context(), SpanKind.INTERNAL, None, links, started_ns
        )
        spans.end_connect(span, session, verdict)

    def kept_alive(self, attempt: Attempt, outcome: str, elapsed: float) -> None:
        """One point of `otel_mcp.client.keepalive.duration`."""
        connector = attempt.session.connector.name
        self._simple(
            c.KEEPALIVE_DURATION,
            elapsed,
            {
                n.CONNECTOR: connector,
                n.OUTCOME: outcome,
                n.MCP_METHOD_NAME: ledger.labels.method(connector, attempt.method),
                n.KEEPALIVE_OVERLAP: bool(attempt.overlaps),
            },
        )

    def late(self, attempt: Attempt, delay: float) -> None:
        """One point of `otel_mcp.client.late_response.delay`, linked by exemplar to the attempt's span."""
        self._simple(c.LATE_RESPONSE_DELAY, delay, {n.CONNECTOR: attempt.session.connector.name}, attempt.context)

    def lock_waited(self, connector: Connector, lock: str, waited: float) -> None:
        """One point of `otel_mcp.client.lock.wait.duration`."""
        name = ledger.labels.lock(connector.name, lock)
        self._simple(c.LOCK_WAIT_DURATION, waited, {n.CONNECTOR: connector.name, n.LOCK_NAME: name})

    def _simple(self, row: c.Instrument, value: float, attributes: dict[str, Any], context: Any = None) -> None:
        if not self.metrics.bound:
            return
        key = tuple(attributes.items())
        folded = tuple((k, n.OTHER if k == n.CONNECTOR else v) for k, v in key)
        self.metrics.record(row, value, self.metrics.attributes(row, key, folded, dict), context)

    def event(
        self,
        name: str,
        time_ns: int,
        connector: str | None,
        transport: str | None,
        fields: Fields,
        call: Call | None = None,
    ) -> None:
        """One line of the call log, and one log record where a logger provider is."""
        log = self.call_log
        if log is not None:
            log.put(name, time_ns, connector, transport, fields)
        if self.logger is not None:
            values = fields() if callable(fields) else fields
            records.emit(self.logger, name, time_ns, connector, transport, values, call)


_QUICK: Final = 1.0
"""Seconds."""


recorder = Recorder()

__all__ = ["Recorder", "recorder"]
