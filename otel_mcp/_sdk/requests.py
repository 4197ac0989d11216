"""The wrapper of `ClientSession.send_request`: one attempt, exactly one end, the caller's own object untouched."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import math
import sys
from contextvars import ContextVar
from typing import Any, Final, Protocol

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.patching import Switch
from otel_mcp._ground.verdicts import Facts, Verdict
from otel_mcp._ledger.model import CONNECTING, VALIDATE, Attempt, Call, Session, now
from otel_mcp._observe import attempts, calls, processes, scopes, sessions
from otel_mcp._record.recorder import recorder
from otel_mcp._sdk import clocks, content, link

with contextlib.suppress(ImportError):  # without OpenTelemetry there is no tracer, and no request has a context
    from opentelemetry.context import attach, detach, get_current

CLAIM: Final[ContextVar[Attempt | None]] = ContextVar("otel_mcp_attempt", default=None)
"""The attempt whose request is being handed to the SDK in this context. On 2.x its span replaces the SDK's."""

_SAME_LIMIT: Final = 0.05
"""Seconds, and share of the limit: a scope is entered a little before or after the limit is told."""
_HANDSHAKES: Final = frozenset({n.INITIALIZE, n.DISCOVER})
_TELLING: Final = frozenset({n.INITIALIZE, n.TOOLS_LIST})
"""Methods whose answers say something about the session."""


class Major(Protocol):
    """What differs between the SDK's majors."""

    makes_spans: bool
    """Whether the SDK makes a span a request; ours is made current in its place then, and here otherwise."""

    def describe(self, request: Any) -> tuple[str, Any]:
        """Method and params of a request."""

    def next_id(self, sdk_session: Any) -> Any:
        """The JSON-RPC id the SDK is about to use, as it keeps it; None if there is none."""

    def with_context(self, request: Any, attempt: Attempt) -> Any:
        """The request to hand on; a copy where trace context has to be put in by us."""

    def verdict(self, method: str, result: Any) -> Verdict:
        """The verdict for a result."""

    def learn(self, session: Session, method: str, params: Any, result: Any) -> None:
        """Take in what an answer says about the session: handshake, listed tools."""


def wrapper(original: Any, major: Major, switch: Switch) -> Any:
    """The replacement of `ClientSession.send_request`."""

    @functools.wraps(original)
    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, request, *args, **kwargs)
        attempt = _begin(self, request, args, kwargs, major)
        if attempt is None:
            return await original(self, request, *args, **kwargs)
        claim = CLAIM.set(attempt) if major.makes_spans else None
        current = None if major.makes_spans or attempt.context is None else _make_current(attempt)
        try:
            outgoing = request if attempt.context is None else _outgoing(major, request, attempt)
            result = await original(self, outgoing, *args, **kwargs)
        except BaseException as error:
            fail(attempt, error)
            raise
        else:
            _succeeded(major, attempt, request, result)
            return result
        finally:
            if current is not None:
                leave(attempt.context, current)
            if claim is not None:
                scopes.leave(CLAIM, claim)

    return send_request


def _make_current(attempt: Attempt) -> Any:
    """Make the attempt's span current while the SDK sends; a token for `leave`, None if that failed.

    Others in there expect one: spans of further instrumentors become its children, and Traceloop, which copies the
    current context into a `_meta` that is not empty, gives the caller None where there is no context to copy.
    """
    try:
        return attach(attempt.context)
    except Exception as error:  # noqa: BLE001 - the request goes out without us
        guard.caught("requests", "the current span of one request", error)
        return None


def leave(context: Any, token: Any) -> None:
    """Detach, if the context that is current is still ours: a coroutine closed from elsewhere has another one."""
    if get_current() is context:
        detach(token)


def _begin(
    sdk_session: Any, request: Any, args: tuple[Any, ...], kwargs: dict[str, Any], major: Major
) -> Attempt | None:
    try:
        session = link.entry(sdk_session)
        method, params = major.describe(request)
        return begin(session, method, params, major.next_id(sdk_session), _limit(session, args, kwargs))
    except Exception as error:  # noqa: BLE001 - the request goes out without us
        guard.caught("requests", "one request", error)
        return None


def _limit(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
    """The SDK's read time-out for this request, seconds; None for none. The request's own replaces the session's."""
    given = args[1] if len(args) > 1 else kwargs.get("request_read_timeout_seconds")
    return session.read_timeout if given is None else link.seconds(given)


def begin(session: Session, method: str, params: Any, key: Any, limit: float | None) -> Attempt:
    """Open an attempt with everything that is known of its limits."""
    target = link.target_of(method, params)
    call = calls.current(method, target)
    within = _listing_within(method) if call is None else None
    probe = _probe(method) if within is None else None
    uri = str(getattr(params, "uri", "")) or None if method == n.RESOURCES_READ else None
    attempt = attempts.begin(session, method, target, key, limit, call, probe=probe, within=within, uri=uri)
    if recorder.settings.capture_content and content.wanted(attempt):
        content.asked(attempt, params)
    attempt.handled_before = sys.exc_info()[1]
    attempt.deadline = clocks.anyio_deadline()
    if call is not None:
        _note_limits(call, attempt, limit)
    return attempt


def _listing_within(method: str) -> Call | None:
    """The call that the SDK makes this listing in, to validate its result by."""
    around = calls.CURRENT.get() if method == n.TOOLS_LIST else None
    return around if around is not None and not around.ended and around.phase == VALIDATE else None


def _probe(method: str) -> str | None:
    """The probe's method, where the request is a keepalive."""
    probing = method if method == n.PING else scopes.PROBE.get()
    return probing if probing is not None and probing in {n.PING, method} else None


def _note_limits(call: Call, attempt: Attempt, limit: float | None) -> None:
    call.limits["sdk"] = limit
    if attempt.deadline != math.inf:
        left = attempt.deadline - clocks.loop_time()
        if math.isfinite(left):
            attempt.caller_limit = left
            if _told_by(attempt, left) is None:
                call.limits["caller"] = left + attempt.started - call.started
    calls.limits_known(call)


def _told_by(attempt: Attempt, seconds: float | None) -> str | None:
    """Who of the layers above told this limit and enforces it with the caller's tools: one clock, not two.

    `seconds` are what was left when the attempt began, or what `wait_for` was given when the layer armed its clock.
    """
    call = attempt.call
    if call is None or seconds is None:
        return None
    armed = call.armed if call.armed is not None else call.started
    as_given, counted_from_arming = seconds, seconds + attempt.started - armed
    for source in ("host", "guard"):
        told = call.limits.get(source)
        if told is not None:
            near = max(_SAME_LIMIT, told * _SAME_LIMIT)
            if abs(counted_from_arming - told) <= near or abs(as_given - told) <= near:
                return source
    return None


def _outgoing(major: Major, request: Any, attempt: Attempt) -> Any:
    try:
        return major.with_context(request, attempt)
    except Exception as error:  # noqa: BLE001 - the request goes out without trace context
        guard.caught("propagation", "the trace context of one request", error)
        return request


def _succeeded(major: Major, attempt: Attempt, request: Any, result: Any) -> None:
    try:
        method = attempt.method
        if method in _TELLING:
            major.learn(attempt.session, method, major.describe(request)[1], result)
        if recorder.settings.capture_content and content.wanted(attempt):
            content.answered(attempt, result)
        answered(attempt, major.verdict(method, result))
    except Exception as error:  # noqa: BLE001 - the caller gets its result whatever happens here
        _end_anyway(attempt, v.OK)
        guard.caught("requests", "the end of one request", error)


def answered(attempt: Attempt, verdict: Verdict) -> None:
    """A result came back."""
    session = attempt.session
    if not attempt.answered:  # nobody saw the answer come in
        moment = now()
        session.heard(moment)
        attempts.sent(attempt, moment)
    if session.state == CONNECTING and attempt.method not in _HANDSHAKES:
        sessions.ready(session, None, None)  # a host that rebuilds a session without a handshake
    attempts.end(attempt, verdict)


def fail(attempt: Attempt, error: BaseException) -> None:
    """An exception or a cancellation reached the caller; never raises."""
    try:
        _fail(attempt, error)
    except Exception as fault:  # noqa: BLE001 - the caller gets its own exception whatever happens here
        _end_anyway(attempt, v.of_exception(error, Facts(cancelled=is_cancellation(error))))
        guard.caught("requests", "the end of one request", fault)


def _end_anyway(attempt: Attempt, verdict: Verdict) -> None:
    """Something of ours failed on the way to the end: or the request would stay open for good."""
    with guard.guarded("requests", "the record of one request"):
        attempts.end(attempt, verdict)


def _fail(attempt: Attempt, error: BaseException) -> None:
    session = attempt.session
    if _says_closed(attempt, error) and not session.closed_by_us and not session.retired:
        sessions.lost(session)  # on 1.x the first of several waiters is told before the receive loop has ended
    elif is_cancellation(error) and _server_is_gone(session):
        sessions.lost(session)
    verdict = judge(attempt, error)
    if verdict.outcome is Outcome.ERROR and verdict.code is not None:
        session.heard(now())
    if recorder.settings.capture_content and content.wanted(attempt):
        content.failed(attempt, error)
    if attempt.method in _HANDSHAKES and session.state == CONNECTING:
        session.handshake_verdict = verdict
    attempts.end(attempt, verdict)
    if attempt.method == n.INITIALIZE and not session.connected:
        sessions.connect_failed(session, verdict)


def _says_closed(attempt: Attempt, error: BaseException) -> bool:
    """The SDK's own "Connection closed": the peer's -32000 would have arrived as an answer."""
    code = getattr(getattr(error, "error", None), "code", None)
    return code == v.CLOSED_CODE and not attempt.answered and not attempt.synthesized


def _server_is_gone(session: Session) -> bool:
    """On 1.x a write that fails cancels the caller, maybe before anybody has read the end of the server's output."""
    transport = session.transport
    if transport.process is None or transport.failed is not None or session.closed_by_us or session.retired:
        return False
    return processes.is_gone(transport.process)


def judge(attempt: Attempt, error: BaseException) -> Verdict:
    """The verdict for the exception, with everything that was seen beside it."""
    session = attempt.session
    transport = session.transport
    facts = Facts(
        handled_before=attempt.handled_before,
        answered=attempt.answered and not attempt.synthesized,
        http_status=attempt.http_status or (transport.http_status if transport.failed else None),
        transport_cause=attempt.cause or transport.failed,
        transport_failed=transport.failed is not None,
        limit=attempt.limit,
        cancelled=is_cancellation(error),
    )
    if facts.cancelled:
        cut = clocks.cut_by_caller(attempt.deadline, attempt.caller_limit, now() - attempt.started)
        if cut is not None:
            facts.caller_limit_fired = True
            facts.deadline = cut.limit
            source = _told_by(attempt, cut.limit)
            if source is not None and attempt.call is not None:
                told = attempt.call.limits[source]
                return dataclasses.replace(v.of_exception(error, facts), limit=told, limit_source=source)
        elif attempt.call is not None:
            return _cut_from_above(attempt, attempt.call) or v.of_exception(error, facts)
    return v.of_exception(error, facts)


def _cut_from_above(attempt: Attempt, call: Call) -> Verdict | None:
    """A layer above ran out of time: it may have ended the call already, from another thread."""
    if call.verdict is not None:
        return call.verdict if call.verdict.outcome is Outcome.DEADLINE else None
    found = call.ran_out(now())
    if found is None:
        return None
    return Verdict(Outcome.DEADLINE, v.TIMEOUT, cause=attempt.root_cause, limit=found[0], limit_source=found[1])


def is_cancellation(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError):
        return True
    trio = sys.modules.get("trio")
    return trio is not None and isinstance(error, trio.Cancelled)
