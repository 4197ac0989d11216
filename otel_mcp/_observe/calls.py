"""What the caller asked for, until it has its answer."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from otel_mcp._ground import names as n
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import LEFT_BEHIND, OK, Verdict, of_call
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import WAIT, Call, Session, now
from otel_mcp._observe import loops
from otel_mcp._record.recorder import recorder

CURRENT: Final[ContextVar[Call | None]] = ContextVar("otel_mcp_call", default=None)
"""The call whose attempts are made in this context."""

_CUT: Final = frozenset({Outcome.DEADLINE, Outcome.CANCELLED, Outcome.DISCONNECTED, Outcome.ORPHANED, Outcome.REJECTED})


def begin(
    connector: Connector, name: str, method: str, target: str | None, session: Session | None, *, layered: bool
) -> Call:
    """Open a call."""
    call = Call(connector, method, target, name)
    if session is not None:
        on_session(call, session, call.started)
    else:
        call.loop = loops.current()
    ledger.open_call(call)
    if layered:
        call.layered = True
        recorder.call_started(call)
    return call


def on_session(call: Call, session: Session, moment: float) -> None:
    """The call goes over this session from now on."""
    call.session = session
    call.generation = session.generation
    call.session_age = moment - session.opened
    call.idle = moment - (session.last_message or session.opened)


def current(method: str, target: str | None) -> Call | None:
    """The call a layer above has opened for this very request, if any.

    While an attempt of it is open, another request in this context is made by an in-process server: no part of it.
    """
    call = CURRENT.get()
    if call is None or call.ended or call.method != method:
        return None
    if call.current is not None and not call.current.ended:
        return None
    if call.target is None and call.current is None:
        call.target = target  # a guard around a function learns what is called by the first request
    return call if call.target == target else None


def limits_known(call: Call) -> None:
    """The limits of the call are known: the gauge, and the counters that have to exist before the first event."""
    connector = call.connector
    if call.limits == connector.limits_known:
        return
    connector.limits_known = call.limits.copy()
    seconds, source = call.limit
    if seconds is not None:
        connector.limit = seconds
    elif None in call.limits.values():
        connector.limit = 0.0
    if source not in connector.prepared:
        connector.prepared.add(source)
        for each in (source or n.NONE, "caller"):
            ledger.cut_off(connector, Outcome.DEADLINE, WAIT, each, 0)


def end(call: Call, verdict: Verdict) -> None:
    """Exactly one record: counted, its point made, its line told. A second end is ignored."""
    if call.ended:
        return
    moment = now()
    with ledger.lock:
        call.ended = True
        attempt = call.current
        if attempt is None or attempt.ended:
            call.current = None  # the two point at each other, and would wait for the garbage collector
        else:
            # Given up in another thread than the request's: it ends as soon as that thread learns of it.
            call.outcomes.append(verdict.outcome)
            call.cause = call.root_cause
        if call.orphaned:
            verdict = LEFT_BEHIND
        elif verdict is not OK:
            verdict = of_call(verdict, sent=call.sent, session_gone=call.session_gone)
        call.verdict = verdict
        call.elapsed = moment - call.started
        ledger.close_call(call, verdict.outcome)
    if verdict.outcome in _CUT:
        phase = n.NONE if verdict.outcome is Outcome.REJECTED else call.longest_phase()
        ledger.cut_off(call.connector, verdict.outcome, phase, verdict.limit_source or n.NONE)
    recorder.call_ended(call, verdict)
