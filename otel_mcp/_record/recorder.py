"""The recorder: turns what the ledger knows into spans, points, log records and lines.

Start-up binds it to providers; while nothing is bound it makes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._ground.settings import Settings
from otel_mcp._ground.verdicts import OK, Verdict
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import MAX_CACHED, Attempt, Call, Session
from otel_mcp._record import events, points, records
from otel_mcp._record.gathered import Series
from otel_mcp._record.metrics import Metrics
from otel_mcp._version import __version__

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider

_QUICK: Final = 1.0
"""Seconds. An exemplar costs as much again as the point, and nobody looks for one quick good answer among thousands."""

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
        self._spans: Any = None
        """The module that makes spans; kept when the tracer goes, for the spans that are open."""

    # --- providers ----------------------------------------------------------------------------------------------

    def bind_tracer_provider(self, provider: TracerProvider | None) -> None:
        """Spans go to this provider from now on; None: no spans."""
        if provider is None or not self.settings.spans:
            self.tracer = None
            return
        from otel_mcp._record import spans

        self._spans = spans
        self.tracer = provider.get_tracer(n.SCOPE, __version__)

    def bind_meter_provider(self, provider: MeterProvider | None) -> None:
        """Points go to this provider from now on; None: no metrics."""
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
        if self.tracer is not None:
            self._spans.start_attempt(self.tracer, attempt)

    def attempt_ended(self, attempt: Attempt, verdict: Verdict, elapsed: float) -> None:
        """One histogram point, and the end of the span."""
        if self.metrics.bound:
            series = self._operation(attempt, verdict)
            if verdict is OK and elapsed < _QUICK:
                self.metrics.gather(series, elapsed)
            else:
                self.metrics.record(series, elapsed, attempt.context)
        if attempt.span is not None:
            self._spans.end_attempt(attempt.span, attempt, verdict)

    def _operation(self, attempt: Attempt, verdict: Verdict) -> Series:
        """The series of an attempt's point; of a good answer looked up in the session, where most find theirs."""
        known = attempt.session.points_cache
        asked = (attempt.method, attempt.target)
        series = known.get(asked) if verdict is OK else None
        if series is None:
            key = points.operation_key(attempt, verdict)
            series = self.metrics.series(c.OPERATION_DURATION, key, points.OPERATION)
            if verdict is OK and len(known) < MAX_CACHED and n.OTHER not in series.attributes.values():
                known[asked] = series
        return series

    # --- calls ----------------------------------------------------------------------------------------------------

    def call_started(self, call: Call) -> None:
        """A span of its own for a call that a layer above the SDK opened, unless an `execute_tool` span is there."""
        if self.tracer is not None:
            self._spans.start_call(self.tracer, call)

    def call_ended(self, call: Call, verdict: Verdict) -> None:
        """One histogram point, the span's end, one `call` event."""
        if self.metrics.bound:
            series = self.metrics.series(c.CALL_DURATION, (call.connector.name, verdict.outcome), points.CALL)
            if verdict is OK and call.elapsed < _QUICK:
                self.metrics.gather(series, call.elapsed)
            else:
                self.metrics.record(series, call.elapsed)
        if call.span is not None:
            self._spans.end_call(call.span, call, verdict)
        if self.call_log is not None or self.logger is not None:
            kind = call.session.transport.kind if call.session is not None else None
            self.event("call", call.started_ns, call.name, kind, lambda: events.call_fields(call, verdict), call)

    # --- everything else --------------------------------------------------------------------------------------------

    def session_ended(self, session: Session, age: float, error: str | None) -> None:
        """One point of `mcp.client.session.duration`."""
        if not self.metrics.bound:
            return
        key = (session.connector.name, error, session.protocol, session.transport.kind)
        self.metrics.record(self.metrics.series(c.SESSION_DURATION, key, points.SESSION), age)

    def connected(self, connector: Connector, verdict: Verdict, reason: str, elapsed: float) -> None:
        """One point of `otel_mcp.client.connect.duration`."""
        self._simple(
            c.CONNECT_DURATION, elapsed, {n.CONNECTOR: connector.name, n.OUTCOME: verdict.outcome.value,
                                          n.CONNECT_REASON: reason}
        )  # fmt: skip

    def current_span_context(self) -> Any:
        """Context of the span that is current, if it is valid and anybody records spans."""
        return self._spans.current_context() if self.tracer is not None else None

    def connect_span(self, session: Session, verdict: Verdict, started_ns: int) -> None:
        """The span of one connect: a root, linked to what asked for it."""
        if self.tracer is not None:
            self._spans.connect(self.tracer, session, verdict, started_ns)

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
        self.metrics.record(self.metrics.series(row, key, points.SIMPLE), value, context)

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


recorder = Recorder()

__all__ = ["Recorder", "recorder"]
