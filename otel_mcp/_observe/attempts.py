"""One request of any method, from being handed to a session until its caller is released."""

from __future__ import annotations

import time
from typing import Any, Final

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import LEFT_BEHIND, Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import LOST, VALIDATE, WAIT, WRITE, Attempt, Call, Session, now
from otel_mcp._observe import calls, scopes
from otel_mcp._record import events
from otel_mcp._record.recorder import recorder

ANSWERED: Final = frozenset({Outcome.OK, Outcome.TOOL_ERROR, Outcome.ERROR})
_GAVE_UP: Final = frozenset({Outcome.DEADLINE, Outcome.CANCELLED})
_MAX_GIVEN_UP: Final = 1000
"""A session. The oldest are forgotten first: an answer that comes so late is counted nowhere."""


def begin(
    session: Session,
    method: str,
    target: str | None,
    key: Any,
    limit: float | None,
    call: Call | None,
    *,
    probe: str | None = None,
    within: Call | None = None,
    uri: str | None = None,
) -> Attempt:
    """Open an attempt: registered, its span started, its phase `write`."""
    check = recorder.before_attempt
    if check is not None:
        check()
    moment = now()
    attempt = Attempt(session, method, target, key, call, moment, limit)
    if session.retired or session.state == LOST:
        attempt.session_gone = True
    if call is not None:
        _join(call, attempt, moment)
    else:
        attempt.within = within
        attempt.unasked = _in_reconnect()
    if uri is not None:
        attempt.uri = uri
    if probe is not None:
        attempt.probe = probe
        attempt.started_ns = time.time_ns()
        session.probes[key] = attempt
        _overlap_probe(attempt)
    elif session.probes:
        _overlapped(attempt)
    ledger.open_attempt(attempt)
    if recorder.tracer is not None:
        try:
            recorder.attempt_started(attempt)
        except Exception as error:  # noqa: BLE001 - span processors raise what they like
            _without_span(attempt, error)
    if not session.transport.observes_writes and not attempt.session_gone:
        sent(attempt, moment)
    return attempt


def _without_span(attempt: Attempt, error: Exception) -> None:
    """The attempt goes on without its span, unless the exception is the program's own."""
    try:
        guard.caught("spans", "the span of one request", error)
    except Exception:
        ledger.close_attempt(attempt)
        raise


def _in_reconnect() -> bool:
    connecting = scopes.CONNECTING.get()
    return connecting is not None and connecting.reason not in {None, "initial", "additional"}


def _join(call: Call, attempt: Attempt, moment: float) -> None:
    session = attempt.session
    if call.last is v.INPUT_REQUIRED:
        attempt.continues = True
    if session.ruled and call.connector is not session.connector:
        ledger.move(call, session)
    call.current = attempt
    call.session_gone = attempt.session_gone
    if call.session is not session:
        calls.on_session(call, session, moment)
    if call.phase != WRITE:
        call.enter(WRITE, moment)


def _overlap_probe(probe: Attempt) -> None:
    for other in list(probe.session.attempts.values()):
        if other.call is not None and not other.ended:
            other.call.overlap = True
            other.overlaps = (*other.overlaps, 0)
            probe.overlaps = (*probe.overlaps, other.call.id)


def _overlapped(attempt: Attempt) -> None:
    if attempt.call is None:
        return
    attempt.call.overlap = True
    attempt.overlaps = (*attempt.overlaps, 0)
    for probe in list(attempt.session.probes.values()):
        probe.overlaps = (*probe.overlaps, attempt.call.id)


def sent(attempt: Attempt, moment: float) -> None:
    """The transport took the message: `write` becomes `wait`."""
    if attempt.sent_at is not None:
        return
    attempt.sent_at = moment
    attempt.phase = WAIT
    attempt.session.last_message = moment
    call = attempt.call
    if call is not None and not call.ended and call.current is attempt:
        call.sent = True
        call.enter(WAIT, moment)


def answered(session: Session, key: Any) -> None:
    """A response with this id came in: in time, or late."""
    moment = now()
    session.heard(moment)
    attempt = session.attempts.get(key)
    if attempt is not None and not attempt.ended:
        attempt.answered = True
        if attempt.sent_at is None:
            sent(attempt, moment)
        return
    late = session.given_up.pop(key, None)
    if late is not None:
        _late(*late, moment)


def _late(attempt: Attempt, gave_up: float, moment: float) -> None:
    delay = moment - gave_up
    recorder.late(attempt, delay)
    session = attempt.session
    recorder.event(
        "late_response",
        time.time_ns(),
        session.name,
        session.transport.kind,
        lambda: events.late_fields(attempt, delay),
        attempt.call,
    )


def end(attempt: Attempt, verdict: Verdict) -> None:
    """The caller was released: one point, one span; an orphan had these at its teardown."""
    moment = now()
    ledger.close_attempt(attempt)
    if attempt.probe is not None:
        attempt.session.probes.pop(attempt.key, None)
    if attempt.ended:
        return
    _finish(attempt, verdict, moment)
    if verdict.outcome in _GAVE_UP and attempt.sent_at is not None:
        _give_up(attempt, moment)


def orphan(attempt: Attempt) -> None:
    """The session was torn down beneath it and nobody told the caller: it ends here, its call stays open."""
    moment = now()
    attempt.orphaned = True
    if attempt.call is not None:
        attempt.call.orphaned = True
    _finish(attempt, LEFT_BEHIND, moment)


def _finish(attempt: Attempt, verdict: Verdict, moment: float) -> None:
    attempt.ended = True
    attempt.verdict = verdict
    attempt.handled_before = None
    elapsed = moment - attempt.started
    call = attempt.call
    if call is not None:
        _tell(call, attempt, verdict)
        if verdict is v.OK and attempt.method == n.TOOLS_CALL:
            call.enter(VALIDATE, moment)
    elif attempt.within is not None and verdict.outcome is not Outcome.OK:
        attempt.within.hidden_verdict = verdict
    recorder.attempt_ended(attempt, verdict, elapsed)
    if attempt.probe is not None:
        _probed(attempt, verdict, elapsed)


def _tell(call: Call, attempt: Attempt, verdict: Verdict) -> None:
    """What the end of an attempt says about its call."""
    call.last = verdict
    with ledger.lock:
        if call.ended:
            call.current = None
        else:
            if attempt.continues:
                call.outcomes.pop()
            call.outcomes.append(verdict.outcome)
    call.answered_last = verdict.outcome in ANSWERED
    if verdict is not v.OK or attempt.cause is not None:
        call.cause = attempt.cause or verdict.cause or call.cause
        if verdict.limit is not None and verdict.limit_source is not None:
            call.limits.setdefault(verdict.limit_source, verdict.limit)


def _probed(attempt: Attempt, verdict: Verdict, elapsed: float) -> None:
    session = attempt.session
    # An error answer proves that somebody is there: the probe was answered.
    outcome = Outcome.OK if verdict.outcome in ANSWERED else verdict.outcome
    recorder.kept_alive(attempt, outcome.value, elapsed)
    fields = {
        "method": attempt.method,
        "outcome": outcome.value,
        "elapsed": events.seconds(elapsed),
        "overlap": list(attempt.overlaps),
    }
    recorder.event("keepalive", attempt.started_ns, session.name, session.transport.kind, fields)
    if outcome is Outcome.DEADLINE:
        session.probe_failed = True


def _give_up(attempt: Attempt, moment: float) -> None:
    given_up = attempt.session.given_up
    given_up[attempt.key] = (attempt, moment)
    if len(given_up) > _MAX_GIVEN_UP:
        del given_up[next(iter(given_up))]


__all__ = ["answered", "begin", "end", "orphan", "sent"]
