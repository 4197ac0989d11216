"""What a breaker's strike was for."""

from __future__ import annotations

from typing import Final

from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict

_BY_OUTCOME: Final = {
    Outcome.TOOL_ERROR: "tool_error",
    Outcome.ERROR: "error",
    Outcome.DEADLINE: "deadline",
    Outcome.DISCONNECTED: "transport",
    Outcome.ORPHANED: "transport",
    Outcome.REJECTED: "not_connected",
}
_BY_ROOT_CAUSE: Final = {"http_401": "auth", "http_403": "auth", "http_429": "rate_limit"}


def strike_cause(verdict: Verdict | None, *, in_queue: bool, root_cause: str | None) -> str:
    """The cause, one of the contract's, for a failure that ended so.

    `in_queue` says that it never got past a lock, `root_cause` what is known to lie beneath it.
    """
    if in_queue and (verdict is None or verdict.outcome is Outcome.DEADLINE):
        return "lock_wait"  # says nothing about the server: nothing was sent to it
    if verdict is None:
        return n.UNKNOWN
    if root_cause in _BY_ROOT_CAUSE:
        return _BY_ROOT_CAUSE[root_cause]
    if verdict.outcome is Outcome.DISCONNECTED and verdict.error_type == v.NOT_CONNECTED:
        return v.NOT_CONNECTED
    return _BY_OUTCOME.get(verdict.outcome, n.UNKNOWN)
