"""The ledger's entries. Times are `time.monotonic()` seconds unless a name says otherwise."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground.verdicts import http_cause

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanContext

    from otel_mcp._ground.outcomes import Outcome
    from otel_mcp._ground.verdicts import Verdict
    from otel_mcp._ledger.connector import Connector

now = time.monotonic
_call_ids = itertools.count(1)

CONNECTING, READY, LOST, CLOSED = "connecting", "ready", "lost", "closed"
LOCK, CONNECT, WRITE, WAIT, VALIDATE, BACKOFF = n.PHASES
OVERDUE_GRACE: Final = 5.0
OVERDUE_WITHOUT_LIMIT: Final = 600.0
MAX_CACHED: Final = 256
"""Entries of a session's caches of attributes."""


@dataclass(slots=True, eq=False)
class Transport:
    """One transport connection, known from the moment it is opened."""

    kind: str
    """``stdio``, ``http``, ``sse``, ``websocket``, ``memory``."""
    target: str | None = None
    """Command line, or URL without userinfo and query."""
    derived: str | None = None
    """A connector name derived from the target."""
    host: str | None = None
    port: int | None = None
    observes_writes: bool = False
    """The transport tells us when a message left; otherwise a request counts as sent at once."""
    process: Any = None
    opened: float = field(default_factory=now)
    failed: str | None = None
    """Cause, once the transport's own task group died."""
    http_status: int | None = None
    """Status of the answer that killed it."""
    session: Session | None = None
    sdk: Any = None
    """The SDK's transport object, where it has one."""
    http_session_id: str | None = None
    noise_lines: int = 0
    asked: Any = None
    """The connect scope or host context this transport was opened in."""

    @property
    def network(self) -> str | None:
        """`network.transport` of the conventions."""
        return NETWORKS.get(self.kind)


NETWORKS: Final = {"stdio": "pipe", "http": "tcp", "sse": "tcp", "websocket": "tcp"}


@dataclass(slots=True, eq=False)
class Session:
    """One live connection to a connector."""

    connector: Connector
    transport: Transport
    generation: int
    reason: str = "initial"
    name: str = ""
    """The connector's raw name, which may differ from its label."""
    provisional: bool = False
    """No name is known yet; the server's own may still give one."""
    ruled: bool = False
    """`OTEL_MCP_CONNECTORS` gave the name."""
    opened: float = field(default_factory=now)
    opened_ns: int = field(default_factory=time.time_ns)
    state: str = CONNECTING
    protocol: str | None = None
    last_inbound: float | None = None
    last_message: float | None = None
    """Of either direction."""
    read_timeout: float | None = None
    attempts: dict[Any, Attempt] = field(default_factory=dict)
    """Open requests by JSON-RPC id, orphans whose caller still waits included."""
    retired: bool = False
    closed_by_us: bool = False
    expired: bool = False
    """The server said that it no longer knows this session."""
    probe_failed: bool = False
    """A keepalive probe ran out of time on it."""
    probes: dict[Any, Attempt] = field(default_factory=dict)
    """Open keepalive probes."""
    given_up: dict[Any, tuple[Attempt, float]] = field(default_factory=dict)
    """Requests whose caller left before an answer, with the moment: their answer may still come."""
    holds: list[str] = field(default_factory=list)
    """Server requests and notification handlers that hold the receive loop now."""
    handshake_verdict: Verdict | None = None
    """How the last failed handshake request ended."""
    anchor: Any = None
    """Weak reference to the SDK's session, whose end is noticed even if nobody leaves it."""
    loop: Any = None
    """The event loop and thread it lives on."""
    asked_by: Any = None
    """Span context of what asked for this connection."""
    connected: bool = False
    """The connect was recorded, successful or not."""
    span_cache: dict[Any, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Name and attributes that spans start with, by method and target."""
    points_cache: dict[Any, Any] = field(default_factory=dict)
    """Series of the points of good answers, by method and target."""

    def heard(self, moment: float) -> None:
        """A message of any kind came in."""
        self.last_inbound = self.last_message = moment


class Call:
    """What the caller asked for, until it has its answer.

    One is made at every call, so what most calls never need stands on the class and not in each of them.
    """

    layered: bool = False
    """Opened by a layer above the SDK: host adapter or guard."""
    session: Session | None = None
    phase: str = WRITE
    armed: float | None = None
    """When the clock of the limit that a layer above watches was started; again for each of its attempts."""
    armed_by: str | None = None
    """That limit's source."""
    attempts: int = 0
    last: Verdict | None = None
    current: Attempt | None = None
    """The attempt made last, until both have ended."""
    sent: bool = False
    answered_last: bool = True
    cause: str | None = None
    lock_holder: str | None = None
    breaker: str | None = None
    session_gone: bool = False
    """The session had ended before the last attempt was made."""
    generation: int | None = None
    session_age: float | None = None
    idle: float | None = None
    overlap: bool = False
    retry_unsafe: bool = False
    idempotent: bool = False
    orphaned: bool = False
    span: Span | None = None
    own_span: bool = True
    """False: the span is somebody else's `execute_tool` span."""
    trace_id: int = 0
    span_id: int = 0
    trace_flags: int = 0
    ended: bool = False
    hidden_verdict: Verdict | None = None
    """How the SDK's hidden listing ended, where it did not end well."""
    verdict: Verdict | None = None
    elapsed: float = 0.0
    next_report: float = 0.0
    loop: Any = None
    """The event loop and thread it was made on, where it had no session then."""

    def __init__(self, connector: Connector, method: str, target: str | None, name: str = "") -> None:
        self.connector = connector
        self.method = method
        self.target = target
        """Tool or prompt name; None for resources."""
        self.name = name
        """The connector's raw name."""
        self.started = now()
        self.started_ns = time.time_ns()
        self.id = next(_call_ids)
        self.phases: list[tuple[str, float]] = []
        """Phases that are over, and when each was."""
        self.limits: dict[str, float | None] = {}
        """All known limits in seconds, by source; None: known to be none."""
        self.outcomes: list[Outcome] = []
        """Of its attempts."""

    def enter(self, phase: str, moment: float) -> None:
        """Move to another phase."""
        if phase != self.phase:
            self.phases.append((self.phase, moment))
            self.phase = phase

    @property
    def phase_time(self) -> dict[str, float]:
        """Seconds spent in each phase so far."""
        times: dict[str, float] = {}
        since = self.started
        for phase, until in [*self.phases, (self.phase, self.started + self.elapsed if self.ended else now())]:
            times[phase] = times.get(phase, 0.0) + until - since
            since = until
        return times

    @property
    def limit(self) -> tuple[float | None, str | None]:
        """The tightest known limit and its source; (None, None) if none is known."""
        best: tuple[float | None, str | None] = (None, None)
        for source, seconds in self.limits.items():
            if seconds is not None and (best[0] is None or seconds < best[0]):
                best = (seconds, source)
        return best

    @property
    def root_cause(self) -> str | None:
        """What is known by now to lie beneath a failure, the open attempt included."""
        attempt = self.current
        return self.cause or (attempt.root_cause if attempt is not None and not attempt.ended else None)

    def longest_phase(self) -> str:
        """The phase that took the largest part of the time so far."""
        times = self.phase_time
        return max(times, key=times.__getitem__)

    def overdue(self, moment: float) -> bool:
        """Open five seconds past its own limit; without a limit, past 600 s."""
        seconds, source = self.limit
        start = self.armed if self.armed is not None and source == self.armed_by else self.started
        return moment - start > (OVERDUE_WITHOUT_LIMIT if seconds is None else seconds + OVERDUE_GRACE)

    def ran_out(self, moment: float) -> tuple[float, str] | None:
        """The limit of a layer above, in seconds, and its source, if it has run out by then."""
        seconds = self.limits.get(self.armed_by or "")
        if self.armed is None or self.armed_by is None or seconds is None or moment - self.armed < seconds:
            return None
        return seconds, self.armed_by


class Attempt:
    """One request of any method handed to a session. Made as sparingly as `Call`."""

    caller_limit: float | None = None
    """Seconds of the caller's anyio deadline, from the start of this attempt."""
    deadline: float = float("inf")
    """The caller's anyio deadline, on the event loop's clock, as it stood at the start."""
    handled_before: BaseException | None = None
    started_ns: int = 0
    sent_at: float | None = None
    probe: str | None = None
    """The probe's method where this is a keepalive."""
    unasked: bool = False
    """Part of a reconnect: its context is that of whoever asked for the first connect, long ago."""
    within: Call | None = None
    """The call in which the SDK makes this `tools/list` of its own, to validate the result by."""
    continues: bool = False
    """A further round of an `input_required` exchange: part of the attempt that its first round began."""
    session_gone: bool = False
    span: Span | None = None
    span_context: SpanContext | None = None
    context: Any = None
    """In which the span is current."""
    unnamed: bool = False
    """The span's name does without the target, which has no label yet."""
    claimed: bool = False
    answered: bool = False
    synthesized: bool = False
    """The SDK's transport wrote the error itself; the peer sent none."""
    http_status: int | None = None
    cause: str | None = None
    phase: str = WRITE
    ended: bool = False
    verdict: Verdict | None = None
    orphaned: bool = False
    overlaps: tuple[int, ...] = ()
    """Of a probe: the calls that were open beside it; of a call's attempt: a 0 for each probe."""
    next_report: float = 0.0
    uri: str | None = None
    description: str | None = None
    """What an error said; kept only where content is captured."""

    def __init__(
        self,
        session: Session,
        method: str,
        target: str | None,
        key: Any,
        call: Call | None,
        started: float,
        limit: float | None = None,
    ) -> None:
        self.session = session
        self.method = method
        self.target = target
        self.key = key
        """JSON-RPC id as the SDK keeps it."""
        self.call = call
        self.started = started
        self.limit = limit

    @property
    def root_cause(self) -> str | None:
        """What is known by now to lie beneath its failure: of the request itself, or of the transport's end."""
        transport = self.session.transport
        status = self.http_status or (transport.http_status if transport.failed is not None else None)
        return http_cause(status) if status is not None else self.cause or transport.failed
