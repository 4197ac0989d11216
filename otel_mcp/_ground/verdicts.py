"""Which of the eight outcomes applies: pure functions over what the caller got and what was seen beside it.

This is where a deadline becomes a deadline. A local time limit is told from a peer's error by the exception's context
being a `TimeoutError` that was raised during the call, never by the code alone: mcp 1.x writes 408 and 2.x -32001,
and a server may send either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.text import label

TIMEOUT: Final = "timeout"
CONNECTION_CLOSED: Final = "connection_closed"
SESSION_EXPIRED: Final = "session_expired"
NOT_CONNECTED: Final = "not_connected"
BREAKER_OPEN: Final = "breaker_open"
ORPHANED: Final = "orphaned"
TOOL_ERROR: Final = "tool_error"
CANCELLED: Final = "cancelled"

FIXED_ERROR_TYPES: Final = frozenset(
    {TIMEOUT, CONNECTION_CLOSED, SESSION_EXPIRED, NOT_CONNECTED, BREAKER_OPEN, ORPHANED, TOOL_ERROR}
)

CLOSED_CODE: Final = -32000
OUT_OF_RANGE: Final = "out_of_range"
_LARGEST_CODE: Final = 2**63
"""A peer may send an integer of thousands of digits, which Python does not even turn into text."""
_CLOSED_STREAMS: Final = frozenset({"ClosedResourceError", "BrokenResourceError", "EndOfStream"})
# What the SDK's HTTP transport writes itself when the body of a 4xx/5xx answer was no JSON-RPC error (2.x), or always
# for a 404 (1.x, with a code that lost its sign).
STATUS_STAND_INS: Final = frozenset({"Server returned an error response", "Session terminated", "Not Found"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one attempt or call ended.

    `error_type` is what belongs on spans and metrics (None = absent), `code` a JSON-RPC code the peer sent, `cause`
    the root cause beneath the outcome, `limit` (seconds) and `limit_source` the limit that fired.
    """

    outcome: Outcome
    error_type: str | None = None
    code: str | None = None
    cause: str | None = None
    limit: float | None = None
    limit_source: str | None = None


OK: Final = Verdict(Outcome.OK)
INPUT_REQUIRED: Final = Verdict(Outcome.OK)
"""A 2.x server wants something first, and the same request comes again with it. Told from `OK` by identity."""
FAILED_BY_TOOL: Final = Verdict(Outcome.TOOL_ERROR, TOOL_ERROR)
GIVEN_UP: Final = Verdict(Outcome.CANCELLED)
LEFT_BEHIND: Final = Verdict(Outcome.ORPHANED, ORPHANED)


@dataclass(slots=True)
class Facts:
    """What was seen beside the exception. Everything has a default: less is known, never nothing."""

    handled_before: BaseException | None = None
    """The exception that was being handled when the call began: its `TimeoutError`s are not ours."""
    answered: bool = False
    """A response with this request's id arrived from the peer."""
    http_status: int | None = None
    """Status >= 400 that this request got, or that killed the transport."""
    transport_cause: str | None = None
    """`reset`, `stream_ended`, `process_exit`, … where the transport said so."""
    transport_failed: bool = False
    """The transport's task group died; a caller in the same task is cancelled by it."""
    limit: float | None = None
    """The time limit handed to the SDK, seconds."""
    deadline: float | None = None
    """Seconds of the caller's limit that is known to have run out."""
    caller_limit_fired: bool = False
    cancelled: bool = False
    """The exception is the event loop's cancellation."""


def of_exception(error: BaseException, facts: Facts) -> Verdict:
    """The verdict for an exception that reached the caller."""
    if facts.cancelled or not isinstance(error, Exception):
        return _of_cancellation(facts)
    code = getattr(getattr(error, "error", None), "code", None)
    if isinstance(code, int):
        return _of_rpc_error(error, code, facts)
    if isinstance(error, TimeoutError):
        return Verdict(Outcome.DEADLINE, TIMEOUT, cause=facts.transport_cause, limit_source="transport")
    if type(error).__name__ in _CLOSED_STREAMS or isinstance(error, ConnectionError):
        return _disconnected(facts)
    return Verdict(Outcome.ERROR, qualified_name(error))


def _of_cancellation(facts: Facts) -> Verdict:
    if facts.caller_limit_fired:
        return Verdict(Outcome.DEADLINE, TIMEOUT, cause=_cause(facts), limit=facts.deadline, limit_source="caller")
    if facts.transport_failed:
        return _disconnected(facts)
    return GIVEN_UP


def _of_rpc_error(error: BaseException, code: int, facts: Facts) -> Verdict:
    if isinstance(error.__context__, TimeoutError) and error.__context__ is not facts.handled_before:
        return Verdict(Outcome.DEADLINE, TIMEOUT, cause=_cause(facts), limit=facts.limit, limit_source="sdk")
    message = getattr(getattr(error, "error", None), "message", "")
    if facts.http_status is not None and message in STATUS_STAND_INS:
        return _disconnected(facts, expired=message == "Session terminated")
    if message == "Session terminated" and abs(code) == 32600 and not facts.answered:
        return _disconnected(facts, expired=True)
    if facts.transport_cause is not None and not facts.answered:
        return _disconnected(facts)
    if code == CLOSED_CODE and not facts.answered:
        return _disconnected(facts)  # the SDK wrote it: the peer's own -32000 would have arrived as a response
    text = str(code) if abs(code) <= _LARGEST_CODE else OUT_OF_RANGE
    return Verdict(Outcome.ERROR, text, code=text)


def _disconnected(facts: Facts, *, expired: bool = False) -> Verdict:
    if expired:
        error_type = SESSION_EXPIRED
    elif facts.http_status is not None:
        error_type = str(facts.http_status)
    else:
        error_type = CONNECTION_CLOSED
    return Verdict(Outcome.DISCONNECTED, error_type, cause=_cause(facts))


def _cause(facts: Facts) -> str | None:
    if facts.http_status is not None:
        return http_cause(facts.http_status)
    return facts.transport_cause


def http_cause(status: int) -> str:
    """The root cause's name for an HTTP status of 400 or more."""
    if status in {401, 403, 404, 429}:
        return f"http_{status}"
    return "http_4xx" if status < 500 else "http_5xx"


def qualified_name(error: BaseException) -> str:
    """``module.Class`` of an exception, without the module for built-in ones: OpenTelemetry's rule for `error.type`."""
    kind = type(error)
    if kind.__module__ in {"builtins", "__main__"}:
        return label(kind.__qualname__)
    return label(f"{kind.__module__}.{kind.__qualname__}")


def of_call(verdict: Verdict, *, sent: bool, session_gone: bool) -> Verdict:
    """The call's verdict from that of its last attempt.

    A call on a session that had ended before is `rejected`: nothing was sent, and the caller got a refusal.
    """
    if verdict.outcome is Outcome.DISCONNECTED and session_gone and not sent:
        return Verdict(Outcome.REJECTED, NOT_CONNECTED, cause=verdict.cause)
    return verdict
