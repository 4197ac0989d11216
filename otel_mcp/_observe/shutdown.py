"""The end of the process: what is open then gets its record too."""

from __future__ import annotations

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import attempts, calls

_SHUTDOWN = Verdict(Outcome.ORPHANED, v.ORPHANED, cause="shutdown")


def close_open_calls() -> None:
    """Record every open request and call as orphaned, cause `shutdown`."""
    for attempt in ledger.attempts():
        with guarded("shutdown", "an open request"):
            attempt.cause = attempt.cause or "shutdown"
            attempts.end(attempt, _SHUTDOWN)
    for call in list(ledger.calls.values()):
        with guarded("shutdown", "an open call"):
            call.cause = call.cause or "shutdown"
            calls.end(call, _SHUTDOWN)
