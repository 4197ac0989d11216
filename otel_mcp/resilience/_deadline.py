"""One call under one deadline: a result in three kinds, never an exception for what the call did."""

from __future__ import annotations

import math
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel

from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _classify
from otel_mcp.resilience._errors import DeadlineInverted
from otel_mcp.resilience._flight import Flight, NotAwaitable, enclosing
from otel_mcp.resilience._result import CallResult

PASS_THROUGH = (DeadlineInverted, NotAwaitable)
"""Mistakes of the program: a result that hides them would be retried instead of repaired."""


async def call_with_deadline(
    fn: Callable[[], Awaitable[Any]], deadline: float, *, outer: float | None = None
) -> CallResult:
    """Await ``fn()`` for at most `deadline` seconds and say how it ended.

    The deadline covers the whole call and is hard: a callee that swallows its cancellation is left behind
    (`CallResult.left_behind`) and cannot hold the caller for more than 0.05 s longer. The caller's own cancellation
    always goes through. `outer` is a limit around this call that anyio cannot see, in seconds from now.

    Raises `DeadlineInverted` if the deadline is not shorter than `outer`, than the enclosing anyio scope, or than the
    deadline of a call it is nested in; ValueError for a deadline that is no positive number; TypeError if `fn` does
    not return an awaitable.
    """
    check_seconds("deadline", deadline)
    await anyio.lowlevel.checkpoint_if_cancelled()
    check_inversion(deadline, outer)
    return await fly(Flight(fn, anyio.current_time() + deadline), deadline)


async def fly(flight: Flight, deadline: float) -> CallResult:
    """Start a flight, wait for it, and say how it ended."""
    older = sys.exc_info()[1]
    started = anyio.current_time()
    flight.start()
    in_time = await flight.wait()
    return result_of(flight, in_time, deadline, anyio.current_time() - started, older)


def result_of(
    flight: Flight, in_time: bool, deadline: float, elapsed: float, older: BaseException | None
) -> CallResult:
    """What a flight that has been waited for came to. Raises what is not the call's to report."""
    if not in_time:
        return CallResult(
            Outcome.DEADLINE,
            detail=f"TimeoutError: no answer within {deadline:g} s",
            error=TimeoutError(f"no answer within {deadline:g} s"),
            elapsed=elapsed,
            error_type="timeout",
            left_behind=flight.left_behind,
        )
    if flight.error is not None:
        if isinstance(flight.error, PASS_THROUGH) or not isinstance(flight.error, Exception):
            raise flight.error
        verdict = _classify.of_error(flight.error, older=older)
    else:
        verdict = _classify.of_value(flight.value)
    return CallResult(
        verdict.outcome,
        value=flight.value,
        detail=verdict.detail,
        error=flight.error,
        elapsed=elapsed,
        cause=verdict.cause,
        error_type=verdict.error_type,
        left_behind=flight.left_behind,
    )


def check_seconds(name: str, value: float) -> None:
    """Raises ValueError unless `value` is a positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number of seconds, got {value!r}")


def check_inversion(deadline: float, outer: float | None = None) -> None:
    """Raises `DeadlineInverted` unless `deadline` is shorter than every limit around it."""
    if outer is not None and deadline >= outer:
        raise DeadlineInverted(deadline, outer, "the outer limit")
    now = anyio.current_time()
    scope = anyio.current_effective_deadline() - now
    if deadline >= scope:
        raise DeadlineInverted(deadline, scope, "the enclosing anyio scope")
    flight = enclosing.get()
    # A task that was started inside a call may outlive it; the call's limit then no longer means anything to it.
    if flight is not None and not flight.over.is_set() and deadline >= flight.limit - now > 0:
        raise DeadlineInverted(deadline, flight.limit - now, "the deadline of the call around it")


def time_left() -> float:
    """Seconds until the tightest limit around this code; `math.inf` if there is none."""
    left = anyio.current_effective_deadline() - anyio.current_time()
    flight = enclosing.get()
    if flight is not None and not flight.over.is_set():
        left = min(left, flight.limit - anyio.current_time())
    return left
