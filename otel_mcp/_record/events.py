"""Call-log lines and log records: the same events, field by field as `docs/contract.md` has them."""

from __future__ import annotations

import math
from typing import Any

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.model import Attempt, Call, Session


def call_fields(call: Call, verdict: Verdict) -> dict[str, Any]:
    """The fields of a `call` event."""
    limit, source = call.limit
    if verdict.limit_source is not None:
        source = verdict.limit_source
        limit = verdict.limit if verdict.limit is not None else call.limits.get(source)
    times = call.phase_time
    return {
        "id": call.id,
        "method": call.method,
        "tool": call.target,
        "outcome": verdict.outcome.value,
        "bucket": verdict.outcome.bucket,
        "elapsed": seconds(call.elapsed),
        "attempts": call.attempts,
        "attempt_outcomes": [outcome.value for outcome in call.outcomes],
        "limit": seconds(limit),
        "limit_source": source,
        "limits": {name: seconds(value) for name, value in call.limits.items()},
        "phase": call.longest_phase(),
        "sent": call.sent,
        "cause": verdict.cause or call.cause,
        "lock_wait": seconds(times.get("lock", 0.0)),
        "backoff": seconds(times.get("backoff", 0.0)),
        "lock_holder": call.lock_holder,
        "breaker": call.breaker,
        "generation": call.generation,
        "session_age": seconds(call.session_age),
        "idle": seconds(call.idle),
        "keepalive_overlap": call.overlap,
        "retry_unsafe": call.retry_unsafe,
        "error_type": error_type(verdict),
        "trace_id": format(call.trace_id, "032x") if call.trace_id else None,
        "span_id": format(call.span_id, "016x") if call.span_id else None,
    }


def error_type(verdict: Verdict) -> str | None:
    """The log names a cancellation, which spans and metrics leave out."""
    return v.CANCELLED if verdict.outcome is Outcome.CANCELLED else verdict.error_type


def late_fields(attempt: Attempt, delay: float) -> dict[str, Any]:
    """The fields of a `late_response` event."""
    context = attempt.span_context
    return {
        "id": attempt.call.id if attempt.call is not None else None,
        "method": attempt.method,
        "tool": attempt.target,
        "delay": seconds(delay),
        "limit": seconds(_fired(attempt)),
        "trace_id": format(context.trace_id, "032x") if context is not None else None,
        "span_id": format(context.span_id, "016x") if context is not None else None,
    }


def _fired(attempt: Attempt) -> float | None:
    verdict = attempt.verdict
    return verdict.limit if verdict is not None and verdict.limit is not None else attempt.limit


def connect_fields(
    reason: str, generation: int, verdict: Verdict, elapsed: float, exit_code: int | None
) -> dict[str, Any]:
    """The fields of a `connect` event."""
    return {
        "reason": reason,
        "outcome": verdict.outcome.value,
        "elapsed": seconds(elapsed),
        "generation": generation,
        "error_type": error_type(verdict),
        "cause": verdict.cause,
        "exit_code": exit_code,
    }


def session_end_fields(
    session: Session, age: float, error: str | None, cause: str | None, exit_code: int | None
) -> dict[str, Any]:
    """The fields of a `session_end` event."""
    return {
        "generation": session.generation,
        "age": seconds(age),
        "error_type": error,
        "cause": cause,
        "exit_code": exit_code,
        "noise_lines": session.transport.noise_lines,
    }


def seconds(value: float | None) -> float | None:
    """Microsecond resolution, so that lines stay short; infinity is no limit and becomes null."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, 6)
