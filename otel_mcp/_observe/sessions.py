"""A session's life: opened, ready, lost, closed; and the connect that made it."""

from __future__ import annotations

import time
from typing import Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.text import short
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import CLOSED, CONNECTING, LOST, READY, Attempt, Session, Transport, now
from otel_mcp._observe import attempts, loops, processes, scopes
from otel_mcp._record import events
from otel_mcp._record.recorder import recorder

ATTRIBUTE: Final = "_otel_mcp_session"
"""On the SDK's session object. An attribute, because subclasses may be unhashable or define equality."""

_FAULTS = frozenset(n.FAULT_CAUSES)


def of(sdk_session: Any) -> Session | None:
    """The ledger entry of an SDK session, if there is one."""
    try:
        found: Session | None = sdk_session.__dict__.get(ATTRIBUTE)
    except AttributeError:
        return None
    return found


def _announced(transport: Transport) -> scopes.Connecting | None:
    """The connect scope that this transport was opened for.

    A task begun inside a scope may open something else later: a sampling handler that asks another server.
    """
    scope: scopes.Connecting | None = transport.asked or scopes.CONNECTING.get()
    if scope is None or scope.open or scope.session is None:
        return scope
    return scope if scope.session.transport.target == transport.target else None


def opened(transport: Transport) -> Session:
    """A session was entered on this transport: it gets its connector, generation and reason."""
    scopes.first_use()
    scope = _announced(transport)
    given = scope.connector if scope is not None else scopes.NAME.get()
    name = ledger.name_target(transport.target, given, transport.derived, None)
    reason = scope.reason if scope is not None else None
    session = ledger.open_session(name, transport, provisional=name == n.UNKNOWN and not given, reason=reason)
    session.ruled = ledger.ruled(transport.target) is not None
    session.loop = loops.current()
    transport.session = session
    session.asked_by = recorder.current_span_context()
    if scope is not None:
        scope.session = session
    return session


def ready(session: Session, protocol: str | None, server: str | None) -> None:
    """The handshake is done, or turned out not to be needed."""
    if session.provisional:
        ledger.rename(session, ledger.name_target(session.transport.target, None, None, server))
    if protocol is not None:
        session.protocol = short(protocol)
    session.span_cache.clear()
    session.points_cache.clear()
    session.transport.http_session_id = getattr(session.transport.sdk, "session_id", None)
    first = session.state == CONNECTING
    ledger.ready(session)
    if first and not session.connected:
        _connected(session, v.OK)


def connect_failed(session: Session, verdict: Verdict) -> None:
    """The handshake failed; a later one on the same session may still succeed."""
    session.provisional = False
    ledger.connect_failed(session.connector)
    _connected(session, verdict)


def _connected(session: Session, verdict: Verdict) -> None:
    session.connected = True
    elapsed = now() - session.transport.opened
    started_ns = time.time_ns() - int(elapsed * 1e9)
    recorder.connected(session.connector, verdict, session.reason, elapsed)
    recorder.connect_span(session, verdict, started_ns)
    process = None if verdict is v.OK else session.transport.process
    reason, generation = session.reason, session.generation

    def fields() -> dict[str, Any]:
        # On the log's thread, a moment later: a process that has closed its pipes may not have ended yet.
        return events.connect_fields(reason, generation, verdict, elapsed, processes.exit_code(process))

    recorder.event("connect", started_ns, session.name, session.transport.kind, fields)


def never_opened(transport: Transport, error: BaseException) -> None:
    """The transport could not be opened (no such program, connection refused): there never was a session."""
    scope = _announced(transport)
    given = scope.connector if scope is not None else scopes.NAME.get()
    name = ledger.name_target(transport.target, given, transport.derived, None)
    session = Session(ledger.connector(name), transport, 0, name=name)
    session.reason = (scope.reason if scope is not None else None) or "initial"
    cancelled = not isinstance(error, Exception)
    verdict = v.GIVEN_UP if cancelled else Verdict(Outcome.ERROR, v.qualified_name(error))
    connect_failed(session, verdict)
    if scope is not None:
        scope.session = session


def lost(session: Session) -> None:
    """The peer or the transport ended; our side has not closed the session yet."""
    if session.state in {LOST, CLOSED}:
        return
    session.state = LOST
    transport = session.transport
    if transport.kind == "stdio" and transport.failed is None:
        transport.failed = processes.end_cause(transport.process)
    if transport.failed is not None and transport.kind == "stdio":
        fault(session, transport.failed, None)


def fault(session: Session, cause: str, status: int | None, call_id: int | None = None) -> None:
    """A root cause happened now."""
    if cause in _FAULTS:
        ledger.fault(session.connector, cause)
    fields = {"cause": cause, "status": status, "id": call_id}
    recorder.event("fault", time.time_ns(), session.name, session.transport.kind, fields)
    if status == 404 and session.transport.http_session_id is not None:
        session.expired = True


def leave_behind(session: Session, untold: list[Any]) -> list[Attempt]:
    """Orphan the requests with these ids: their callers were not told that the session is gone. Returns them."""
    orphans = [found for found in map(session.attempts.get, untold) if found is not None and not found.ended]
    for attempt in orphans:
        attempts.orphan(attempt)
    return orphans


def closing(session: Session) -> None:
    """Our side begins to close the session."""
    session.closed_by_us = session.state != LOST


def closed(session: Session, untold: list[Any], error: BaseException | None) -> None:
    """The session was left. `untold` are the ids of requests whose callers were not told."""
    if session.retired:
        return
    failed = session.transport.failed
    # Where the transport failed first, callers that nobody told wait for their own limits: that is a deadline, with a
    # cause, and not our teardown.
    orphans = leave_behind(session, untold if failed is None or session.transport.kind == "stdio" else [])
    if not session.connected and session.state == CONNECTING:
        connect_failed(session, session.handshake_verdict or v.GIVEN_UP)
    error_type = _why_ended(session, failed)
    age = now() - session.opened
    ready_before = session.state in {READY, LOST}
    ledger.close_session(session, by_us=session.closed_by_us, reason=_next_reason(session, error_type))
    if ready_before:
        recorder.session_ended(session, age, error_type)
    process = session.transport.process if error_type is not None else None

    def fields() -> dict[str, Any]:
        return events.session_end_fields(session, age, error_type, failed, processes.exit_code(process))

    recorder.event("session_end", time.time_ns(), session.name, session.transport.kind, fields)
    for attempt in orphans:
        scopes.orphaned(attempt)  # told last: by now it waits on a retired session


def _why_ended(session: Session, failed: str | None) -> str | None:
    if session.expired:
        return v.SESSION_EXPIRED
    if session.transport.http_status is not None and failed is not None:
        return str(session.transport.http_status)
    if session.state == LOST or failed is not None:
        return v.CONNECTION_CLOSED
    return None


def _next_reason(session: Session, error_type: str | None) -> str | None:
    """The reason a later connect gets where no adapter names one."""
    if session.expired:
        return "session_expired"
    if session.transport.http_status in {401, 403}:
        return "auth"
    if error_type is not None:
        return "transport"
    return "keepalive" if session.probe_failed else None


__all__ = [
    "ATTRIBUTE",
    "closed",
    "closing",
    "connect_failed",
    "fault",
    "leave_behind",
    "lost",
    "never_opened",
    "of",
    "opened",
    "ready",
]
