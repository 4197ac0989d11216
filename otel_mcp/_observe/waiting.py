"""What a call that has no answer yet says about itself: the `still_waiting` event."""

from __future__ import annotations

import time
from typing import Any

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground.text import label
from otel_mcp._ledger.model import LOCK, Attempt, Call, Session, now
from otel_mcp._observe.locks import Wait
from otel_mcp._record import events
from otel_mcp._record.recorder import recorder

Entry = Call | Attempt | Wait


def report(entry: Entry, *, blocked: bool = False, at: str | None = None) -> None:
    """One `still_waiting` event, and one record of the logger `otel_mcp`."""
    session, call = None, None
    if isinstance(entry, Wait):
        fields, name = of_wait(entry), entry.lock.connector.name
    elif isinstance(entry, Call):
        fields, name, session, call = of_call(entry), entry.name, entry.session, entry
    else:
        fields, name, session, call = of_attempt(entry), entry.session.name, entry.session, entry.call
    fields["loop_blocked"] = blocked
    fields["blocked_at"] = at
    transport = session.transport.kind if session is not None else None
    recorder.event("still_waiting", time.time_ns(), name, transport, fields, call)
    guard.logger.warning("%s", sentence(name, fields))


def of_call(call: Call) -> dict[str, Any]:
    """The fields for a call."""
    limit, source = call.limit
    return {
        "id": call.id,
        "method": call.method,
        "tool": call.target,
        "phase": call.phase,
        "age": events.seconds(now() - call.started),
        "limit": events.seconds(limit),
        "limit_source": source,
        **_session(call.session, orphaned=call.orphaned),
        "lock_holder": call.lock_holder,
    }


def of_attempt(attempt: Attempt) -> dict[str, Any]:
    """The fields for a request that belongs to no call: `initialize`, `tools/list`, a probe."""
    return {
        "id": None,
        "method": attempt.method,
        "tool": attempt.target,
        "phase": attempt.phase,
        "age": events.seconds(now() - attempt.started),
        "limit": events.seconds(attempt.limit),
        "limit_source": "sdk" if attempt.limit is not None else None,
        **_session(attempt.session, orphaned=attempt.orphaned),
        "lock_holder": None,
    }


def of_wait(wait: Wait) -> dict[str, Any]:
    """The fields for something that is no call and stands before a lock: nothing of it was handed to a session yet."""
    return {
        "id": None,
        "method": wait.method or n.UNKNOWN,
        "tool": None,
        "phase": LOCK,
        "age": events.seconds(now() - wait.began),
        "limit": None,
        "limit_source": None,
        **_session(None),
        "current_generation": wait.lock.connector.generation,
        "lock_holder": wait.holder,
    }


def _session(session: Session | None, *, orphaned: bool = False) -> dict[str, Any]:
    """An orphan is told of in the middle of its session's teardown, when the session is as good as retired."""
    if session is None:
        return dict.fromkeys(("silent_for", "generation", "current_generation", "held_by")) | {"retired": False}
    return {
        "silent_for": events.seconds(now() - (session.last_inbound or session.opened)),
        "generation": session.generation,
        "current_generation": session.connector.generation,
        "retired": session.retired or orphaned,
        "held_by": session.holds[0] if session.holds else None,
    }


def sentence(connector: str, fields: dict[str, Any]) -> str:
    """The same for a person. Names come from servers and callers: none of them may begin a line of its own."""
    what = f"{label(fields['method'])} {label(fields['tool'])}" if fields["tool"] else label(fields["method"])
    limit = (
        f"limit {fields['limit']:g} s ({fields['limit_source']})" if fields["limit"] is not None else "no limit known"
    )
    parts = [f"{what} on {connector} is still waiting after {fields['age']:.1f} s, phase {fields['phase']}, {limit}"]
    if fields["retired"]:
        parts.append("on a retired session: nobody will answer it")
    if fields["lock_holder"]:
        parts.append(f"the lock was held by {label(fields['lock_holder'])}")
    if fields["held_by"]:
        parts.append(f"the receive loop is held by {label(fields['held_by'])}")
    if fields["loop_blocked"]:
        parts.append(f"the event loop is blocked at {fields['blocked_at'] or 'an unknown place'}")
    return "; ".join(parts)


def orphaned(attempt: Attempt) -> None:
    """An orphan is reported at its teardown, without waiting for any age."""
    report(attempt.call if attempt.call is not None else attempt)
