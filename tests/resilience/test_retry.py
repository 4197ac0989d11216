"""`RetryPolicy` and `call_with_retry`, on virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.virtual import BACKENDS, run
from otel_mcp.resilience import CallResult, DeadlineInverted, Outcome, RetryPolicy, call_with_retry

from .test_classify import RpcError, StatusError

pytestmark = pytest.mark.anyio


@dataclass
class Callee:
    """Plays one act per attempt and notes when each began and ended. The last act repeats."""

    acts: list[str]
    began: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)

    async def __call__(self) -> str:
        act = self.acts[min(len(self.began), len(self.acts) - 1)]
        self.began.append(anyio.current_time())
        try:
            return await ACTS[act]()
        finally:
            self.ended.append(anyio.current_time())


async def ok() -> str:
    return "rows"


async def tool_error() -> Any:
    return type("Result", (), {"isError": True, "content": ()})()


async def hang() -> str:
    await anyio.sleep_forever()
    raise AssertionError


def raising(error: Exception) -> Callable[[], Awaitable[str]]:
    async def act() -> str:
        raise error

    return act


ACTS: dict[str, Callable[[], Awaitable[Any]]] = {
    "ok": ok,
    "tool_error": tool_error,
    "hang": hang,
    "drop": raising(anyio.BrokenResourceError()),
    "busy": raising(RpcError(-32050, "busy")),
    "denied": raising(StatusError(401)),
    "bug": raising(ValueError("no")),
}


@pytest.mark.promise("retry-only-idempotent")
@pytest.mark.parametrize("act", ["hang", "drop", "busy", "bug", "denied", "tool_error"])
async def test_without_leave_there_is_one_attempt_whatever_happened(act: str) -> None:
    callee = Callee([act, "ok"])

    result = await call_with_retry(callee, 5, policy=RetryPolicy(transient_codes=frozenset({-32050})))

    assert (len(callee.began), result.attempts) == (1, 1)


@pytest.mark.promise("retry-only-idempotent")
@pytest.mark.parametrize("act", ["hang", "drop"])
async def test_with_leave_a_cut_off_or_lost_call_is_made_again(act: str) -> None:
    callee = Callee([act, "ok"])

    result = await call_with_retry(callee, 5, idempotent=True)

    assert (result.outcome, result.value, result.attempts) == (Outcome.OK, "rows", 2)
    assert result.elapsed == pytest.approx(anyio.current_time())


@pytest.mark.promise("retry-transient-codes")
@pytest.mark.parametrize(("codes", "attempts"), [(frozenset(), 1), (frozenset({-32050}), 3)])
async def test_an_error_is_retried_only_for_codes_said_to_be_transient(codes: frozenset[int], attempts: int) -> None:
    callee = Callee(["busy"])

    result = await call_with_retry(callee, 5, policy=RetryPolicy(transient_codes=codes), idempotent=True)

    assert (result.outcome, result.attempts) == (Outcome.ERROR, attempts)


@pytest.mark.promise("retry-only-idempotent")
@pytest.mark.parametrize("act", ["tool_error", "bug", "denied"])
async def test_what_would_fail_again_is_not_retried(act: str) -> None:
    callee = Callee([act, "ok"])

    result = await call_with_retry(callee, 5, idempotent=True)

    assert result.attempts == 1


@pytest.mark.promise("retry-after-deadline")
async def test_after_a_deadline_there_are_fewer_attempts() -> None:
    dropped, cut_off = Callee(["drop"]), Callee(["hang"])

    await call_with_retry(dropped, 5, idempotent=True)
    await call_with_retry(cut_off, 5, idempotent=True)

    assert (len(dropped.began), len(cut_off.began)) == (3, 2)


@pytest.mark.promise("retry-after-deadline", "retry-full-jitter")
def test_the_bound_of_the_wait_doubles_is_wider_after_a_deadline_and_ends_at_the_cap() -> None:
    policy = RetryPolicy(base=2, cap=10, deadline_factor=2)

    assert [policy.widest(n, after_deadline=False) for n in (1, 2, 3, 4, 5000)] == [2, 4, 8, 10, 10]
    assert [policy.widest(n, after_deadline=True) for n in (1, 2, 3)] == [4, 8, 10]


@pytest.mark.promise("retry-full-jitter")
async def test_waits_are_spread_over_the_whole_range() -> None:
    waits = []
    for _ in range(200):
        callee = Callee(["drop", "ok"])
        await call_with_retry(callee, 5, idempotent=True, policy=RetryPolicy(base=2))
        waits.append(callee.began[1] - callee.ended[0])

    assert min(waits) < 0.2
    assert max(waits) > 1.8
    assert all(0 <= wait <= 2 for wait in waits)


@pytest.mark.promise("retry-within-budget")
async def test_no_attempt_is_begun_that_could_not_finish_within_the_budget() -> None:
    callee = Callee(["hang"])

    result = await call_with_retry(callee, 5, idempotent=True, budget=11.9)

    assert result.attempts == 1, "5 s, 2 s of quiet and another 5 s do not fit into 11.9 s"


@pytest.mark.promise("retry-within-budget")
async def test_the_scope_around_bounds_the_attempts_like_a_budget() -> None:
    callee = Callee(["drop"])

    with anyio.fail_after(6):
        result = await call_with_retry(callee, 5, idempotent=True, policy=RetryPolicy(max_attempts=50, base=0.01))

    assert result.outcome is Outcome.DISCONNECTED
    assert callee.began[-1] <= 1 + 1e-9  # sums of floats on a virtual clock


@pytest.mark.promise("deadline-inverted")
async def test_a_deadline_longer_than_the_budget_is_refused() -> None:
    with pytest.raises(DeadlineInverted, match="30 s is not shorter than the budget of all attempts of 20 s"):
        await call_with_retry(ok, 30, budget=20)


@pytest.mark.promise("quiet-after-cutoff")
async def test_after_a_cut_off_the_next_attempt_waits_out_the_quiet_time() -> None:
    callee = Callee(["hang", "ok"])

    await call_with_retry(callee, 5, idempotent=True, policy=RetryPolicy(base=0.001, quiet_time=40))

    assert callee.began[1] - callee.ended[0] == pytest.approx(40)


@pytest.mark.promise("quiet-after-cutoff")
async def test_a_late_answer_ends_the_quiet_time() -> None:
    ended = []

    async def late() -> str:
        if ended:
            return "second"
        with anyio.CancelScope(shield=True):
            stop = anyio.current_time() + 12
            while anyio.current_time() < stop:
                try:
                    await anyio.sleep_until(stop)
                except BaseException:  # noqa: S112 - this is what the callee is about
                    continue
        ended.append(anyio.current_time())
        return "first"

    result = await call_with_retry(late, 5, idempotent=True, policy=RetryPolicy(base=0.001, quiet_time=60))

    assert result.value == "second"
    assert result.elapsed == pytest.approx(12)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"max_attempts": 0}, "max_attempts must be a whole number of 1 or more, got 0"),
        ({"base": -1}, "base must be a positive number of seconds, got -1"),
        ({"deadline_factor": 0.5}, "deadline_factor must be 1 or more, got 0.5"),
        ({"quiet_time": -2}, "quiet_time must be a positive number of seconds, got -2"),
        ({"transient_codes": ["busy"]}, "transient_codes must be JSON-RPC error codes"),
    ],
)
def test_a_policy_that_makes_no_sense_says_why(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RetryPolicy(**wrong)


policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 6),
    base=st.floats(0.01, 10),
    cap=st.floats(0.5, 60),
    deadline_factor=st.floats(1, 4),
    max_attempts_after_deadline=st.integers(1, 6),
    quiet_time=st.sampled_from([0, 0.5, 2, 30]),
    transient_codes=st.sampled_from([frozenset(), frozenset({-32050})]),
)


@pytest.mark.promise("retry-within-budget", "retry-full-jitter", "retry-after-deadline", "quiet-after-cutoff")
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60, deadline=None)
@given(
    policy=policies,
    acts=st.lists(st.sampled_from(["hang", "drop", "busy"]), min_size=1, max_size=6),
    deadline=st.floats(0.1, 20),
    slack=st.one_of(st.none(), st.floats(0, 100)),
    idempotent=st.booleans(),
)
def test_attempts_keep_to_the_policy(
    backend: str, policy: RetryPolicy, acts: list[str], deadline: float, slack: float | None, idempotent: bool
) -> None:
    callee = Callee([*acts, "ok"])
    budget = None if slack is None else deadline + slack

    async def body() -> tuple[float, CallResult]:
        began = anyio.current_time()
        return began, await call_with_retry(callee, deadline, policy=policy, idempotent=idempotent, budget=budget)

    start, result = run(backend, body)

    played = [callee.acts[min(i, len(acts))] for i in range(len(callee.began))]
    assert result.attempts == len(played)
    assert len(played) <= policy.max_attempts
    cut = False
    for i, act in enumerate(played[:-1]):
        cut = cut or act == "hang"
        wait = callee.began[i + 1] - callee.ended[i]
        widest = policy.widest(i + 1, after_deadline=cut)
        quiet = policy.quiet_time if act == "hang" else 0
        assert quiet - 1e-6 <= wait <= max(widest, quiet) + 1e-6
        assert idempotent
        assert act != "busy" or policy.transient_codes
        assert not cut or i + 2 <= policy.max_attempts_after_deadline
    if budget is not None:
        assert all(began + deadline <= start + budget + 1e-6 for began in callee.began)
