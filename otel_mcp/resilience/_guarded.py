"""Breaker, then retry, then deadline, then the record: one call with all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

import anyio
import anyio.lowlevel

from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _classify, _report
from otel_mcp.resilience._breaker import CircuitBreaker, Permit
from otel_mcp.resilience._deadline import check_inversion
from otel_mcp.resilience._errors import BreakerOpen
from otel_mcp.resilience._result import CallResult
from otel_mcp.resilience._retry import Alone, Plan, RetryPolicy, attempts_of, make_plan

OnOpen = Literal["fail", "skip"]


async def guarded_call(
    breaker: CircuitBreaker,
    fn: Callable[[], Awaitable[Any]],
    deadline: float,
    *,
    policy: RetryPolicy | None = None,
    idempotent: bool = False,
    budget: float | None = None,
    on_open: OnOpen = "fail",
) -> CallResult:
    """Make one call through `breaker`, with the retries and the deadline of `call_with_retry`.

    An open breaker refuses without calling ``fn``: ``on_open="fail"`` raises `BreakerOpen`, ``"skip"`` returns a
    `rejected` result that carries it. Each attempt is one observation for the breaker; a probe gets one attempt.

    Raises what `call_with_retry` raises; ValueError for another `on_open`.
    """
    if on_open not in ("fail", "skip"):
        raise ValueError(f'on_open must be "fail" or "skip", got {on_open!r}')
    policy = policy or RetryPolicy()
    plan = make_plan(policy, deadline, idempotent=idempotent, budget=budget)
    await anyio.lowlevel.checkpoint_if_cancelled()
    check_inversion(deadline)
    with _report.sink.call(breaker.name, limit=deadline, idempotent=idempotent) as call:
        state = breaker.state
        call.breaker(state)
        try:
            permit = breaker.admit(deadline)
        except BreakerOpen as refusal:
            call.reject("breaker_open")
            if on_open == "fail":
                raise
            return rejected(refusal, state)
        with permit:
            result = await attempts_of(Guarded(fn, plan, permit, breaker, call), plan)
        return recorded(call, result, state, deadline)


class Guarded(Alone):
    """Surroundings of a call that has a permit and a report."""

    def __init__(
        self,
        fn: Callable[[], Awaitable[Any]],
        plan: Plan,
        permit: Permit,
        breaker: CircuitBreaker,
        call: _report.Call,
    ) -> None:
        super().__init__(fn, plan)
        self._permit = permit
        self._breaker = breaker
        self._call = call

    def begin(self) -> None:
        self._permit.begin()

    def ended(self, result: CallResult) -> None:
        super().ended(result)
        self._permit.record(result.outcome, strike_of(result))

    def lets_through(self) -> bool:
        return not self._permit.is_probe and self._breaker.state == "closed"

    async def back_off(self, seconds: float) -> None:
        with self._call.phase("backoff"):
            await super().back_off(seconds)

    async def quiet(self) -> None:
        with self._call.phase("backoff"):
            await super().quiet()


_STRIKE_OF_CAUSE = {"http_401": "auth", "http_403": "auth", "http_429": "rate_limit", "lock_wait": "lock_wait"}
_STRIKE_OF_PHASE = {"connect": "not_connected", "backoff": "lock_wait", "lock": "lock_wait", "write": "transport"}


def strike_of(result: CallResult) -> str | None:
    """The breaker's word for how an attempt ended; None for what says nothing about the server.

    A deadline speaks about the server only if the server had the message: time spent in our own queue is ours.
    """
    if result.cause in _STRIKE_OF_CAUSE:
        return _STRIKE_OF_CAUSE[result.cause]
    if result.outcome is Outcome.DEADLINE:
        return _STRIKE_OF_PHASE.get(result.phase or "wait", "deadline")
    if result.outcome is Outcome.TOOL_ERROR:
        return "tool_error"
    return None if result.error is None else _classify.of_error(result.error).strike


def rejected(error: BaseException, state: str | None = None) -> CallResult:
    """The result of a call that was refused before anything was sent; `state` is the breaker's."""
    verdict = _classify.of_error(error)
    return CallResult(
        Outcome.REJECTED,
        detail=verdict.detail,
        error=error,
        attempts=0,
        breaker=state,
        sent=False,
        cause=verdict.cause,
        error_type=verdict.error_type,
    )


def recorded(call: _report.Call, result: CallResult, state: str | None, deadline: float) -> CallResult:
    """Tell the report how the call ended; the result with the breaker's state in it."""
    limit, source = (deadline, "guard") if result.outcome is Outcome.DEADLINE else (None, None)
    call.end(result.outcome, error_type=result.error_type, cause=result.cause, limit=limit, limit_source=source)
    return replace(result, breaker=state)
