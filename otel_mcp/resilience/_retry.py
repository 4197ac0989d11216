"""When a call may be made again, how long to wait before it, and the loop that does it.

The arithmetic is ours and not a retry library's (stamina and tenacity were considered). The decision depends on the
outcome of the last attempt, on what is left of the budget, and on whether a cut-off attempt may still be running, and
tenacity's own time limits read `time.monotonic`, which no virtual clock moves. What is left for a library is a loop.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import anyio
import anyio.lowlevel

from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience._deadline import check_inversion, check_seconds, fly, time_left
from otel_mcp.resilience._errors import DeadlineInverted
from otel_mcp.resilience._flight import Flight
from otel_mcp.resilience._result import CallResult

_HOPELESS_CAUSES = frozenset({"http_401", "http_403", "http_404", "http_4xx", "shutdown"})
"""The same request would be refused again: credentials and addresses do not heal by waiting."""

_BEFORE_SENDING = frozenset({"connect", "backoff", "lock"})
"""Phases in which nothing has been handed to a session: what ends there is no attempt, though it used up a turn."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how fast. Times in seconds; docs/resilience/defaults.md says why these values.

    Raises ValueError for values that make no sense.
    """

    max_attempts: int = 3
    base: float = 2.0
    """Upper end of the first back-off; it doubles with each attempt. Every wait is drawn evenly from 0 to that."""
    cap: float = 60.0
    deadline_factor: float = 2.0
    """Back-offs are this much wider once a deadline has cut an attempt off."""
    max_attempts_after_deadline: int = 2
    """Attempts in all, once a deadline has cut one off."""
    transient_codes: frozenset[int] = field(default_factory=frozenset)
    """JSON-RPC error codes that mean "later". Empty: MCP defines none, so only who knows the server can say."""
    quiet_time: float = 2.0
    """After a cut-off, no new attempt for this long, unless the old one is known to be over."""

    def __post_init__(self) -> None:
        for name in ("max_attempts", "max_attempts_after_deadline"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of 1 or more, got {value!r}")
        check_seconds("base", self.base)
        check_seconds("cap", self.cap)
        if self.quiet_time != 0:
            check_seconds("quiet_time", self.quiet_time)
        if not self.deadline_factor >= 1:
            raise ValueError(f"deadline_factor must be 1 or more, got {self.deadline_factor!r}")
        codes = self.transient_codes
        if not isinstance(codes, Iterable) or not all(isinstance(code, int) for code in codes):
            raise ValueError(f"transient_codes must be JSON-RPC error codes, got {codes!r}")
        object.__setattr__(self, "transient_codes", frozenset(codes))

    def widest(self, attempt: int, *, after_deadline: bool) -> float:
        """Upper end of the wait after attempt number `attempt` (from 1), in seconds."""
        factor = self.deadline_factor if after_deadline else 1.0
        # The exponent is bounded because 2.0 ** 1100 overflows; the cap has long been reached by then.
        return min(self.cap, self.base * factor * 2.0 ** min(attempt - 1, 60))

    def attempts_allowed(self, *, after_deadline: bool) -> int:
        """Attempts in all."""
        return min(self.max_attempts, self.max_attempts_after_deadline) if after_deadline else self.max_attempts

    def may_retry(self, result: CallResult, *, idempotent: bool) -> bool:
        """The table of docs/resilience/retry.md, by outcome: may a call that ended like this be made again?"""
        if result.outcome is Outcome.ERROR:
            return idempotent and result.error_type in {str(code) for code in self.transient_codes}
        if result.outcome is Outcome.DEADLINE:
            return idempotent
        if result.outcome is Outcome.DISCONNECTED:
            # What was certainly not sent cannot run twice.
            hopeless = result.cause in _HOPELESS_CAUSES and result.error_type != "session_expired"
            return (idempotent or result.sent is False) and not hopeless
        return False


class Watcher(Protocol):
    """The surroundings of a call: how an attempt is made, and who is asked and told about it."""

    async def attempt(self) -> CallResult: ...
    def begin(self) -> None: ...
    def ended(self, result: CallResult) -> None: ...
    def lets_through(self) -> bool: ...
    async def back_off(self, seconds: float) -> None: ...
    async def quiet(self) -> None: ...


class Alone:
    """Surroundings of a call without breaker, report or connector."""

    def __init__(self, fn: Callable[[], Awaitable[Any]], plan: Plan) -> None:
        self._fn = fn
        self._plan = plan
        self._flight: Flight | None = None
        self._quiet_until = 0.0

    async def attempt(self) -> CallResult:
        deadline = self._plan.deadline
        self._flight = Flight(self._fn, anyio.current_time() + deadline)
        return await fly(self._flight, deadline)

    def begin(self) -> None: ...

    def ended(self, result: CallResult) -> None:
        if result.outcome is Outcome.DEADLINE:
            self._quiet_until = anyio.current_time() + self._plan.policy.quiet_time

    def lets_through(self) -> bool:
        return True

    async def back_off(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def quiet(self) -> None:
        """Until the cut-off attempt has come to an end of its own, or the quiet time has passed.

        That the callee obeyed its cancellation says nothing about the server, which may be at work all the same.
        """
        if self._flight is None:
            return
        with anyio.move_on_after(max(0.0, self._quiet_until - anyio.current_time())):
            await self._flight.answered.wait()


@dataclass(frozen=True)
class Plan:
    """What is constant over the attempts of one call. Seconds."""

    policy: RetryPolicy
    deadline: float
    idempotent: bool
    budget: float | None


async def call_with_retry(
    fn: Callable[[], Awaitable[Any]],
    deadline: float,
    *,
    policy: RetryPolicy | None = None,
    idempotent: bool = False,
    budget: float | None = None,
) -> CallResult:
    """Await ``fn()``, each attempt for at most `deadline` seconds, and again where the policy allows it.

    Without ``idempotent=True`` there is one attempt. `budget`, in seconds, bounds all of it: no attempt is begun that
    could not run to its deadline within the budget or within the enclosing anyio scope. The result is the last
    attempt's, with `elapsed` and `attempts` of the whole.

    Raises what `call_with_deadline` raises; `DeadlineInverted` also for a deadline longer than the budget.
    """
    policy = policy or RetryPolicy()
    plan = make_plan(policy, deadline, idempotent=idempotent, budget=budget)
    await anyio.lowlevel.checkpoint_if_cancelled()
    check_inversion(deadline)
    return await attempts_of(Alone(fn, plan), plan)


def make_plan(policy: RetryPolicy, deadline: float, *, idempotent: bool, budget: float | None) -> Plan:
    """Check the numbers of a call. Raises ValueError or `DeadlineInverted`."""
    check_seconds("deadline", deadline)
    if budget is not None:
        check_seconds("budget", budget)
        if deadline > budget:
            raise DeadlineInverted(deadline, budget, "the budget of all attempts")
    return Plan(policy, deadline, idempotent, budget)


async def attempts_of(watcher: Watcher, plan: Plan) -> CallResult:
    """The loop: attempt, decide, wait, again."""
    started = anyio.current_time()
    count = made = 0
    cut_off = False
    lock_wait = 0.0
    last: CallResult | None = None
    while True:
        count += 1
        watcher.begin()
        result = await watcher.attempt()
        if result.outcome is Outcome.REJECTED:
            # What an earlier attempt of the call came to says more than that there can be no other.
            return replace(last or result, attempts=made, elapsed=anyio.current_time() - started)
        watcher.ended(result)
        made += result.phase not in _BEFORE_SENDING
        cut_off = cut_off or result.outcome is Outcome.DEADLINE
        lock_wait += result.lock_wait
        elapsed = anyio.current_time() - started
        last = result = replace(result, attempts=made, elapsed=elapsed, lock_wait=lock_wait)
        wait = _next_wait(plan, result, count, cut_off=cut_off)
        if wait is None or not watcher.lets_through():
            return result
        await watcher.back_off(wait)
        if result.outcome is Outcome.DEADLINE:
            await watcher.quiet()
        if not _fits(plan, anyio.current_time() - started) or not watcher.lets_through():
            return replace(result, elapsed=anyio.current_time() - started)


def _next_wait(plan: Plan, result: CallResult, count: int, *, cut_off: bool) -> float | None:
    """Seconds to wait before another attempt; None if there is to be none."""
    policy = plan.policy
    if count >= policy.attempts_allowed(after_deadline=cut_off):
        return None
    if not policy.may_retry(result, idempotent=plan.idempotent):
        return None
    widest = policy.widest(count, after_deadline=cut_off)
    quiet = policy.quiet_time if result.outcome is Outcome.DEADLINE else 0.0
    # Jitter that is drawn beyond the budget would give up a retry that a shorter draw could make: draw within it.
    room = _room(plan, result.elapsed)
    if room < quiet:
        return None
    return random.uniform(0.0, min(widest, room))  # noqa: S311 - spreading load needs no secret


def _fits(plan: Plan, elapsed: float) -> bool:
    return _room(plan, elapsed) >= 0.0


def _room(plan: Plan, elapsed: float) -> float:
    """Seconds that can pass before the last moment at which an attempt can begin and still run to its deadline."""
    room = time_left() - plan.deadline
    return room if plan.budget is None else min(room, plan.budget - elapsed - plan.deadline)
