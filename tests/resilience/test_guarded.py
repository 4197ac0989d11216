"""`guarded_call`: breaker, then retry, then deadline, then the record."""

from __future__ import annotations

import anyio
import pytest

from otel_mcp.resilience import (
    BreakerOpen,
    CallResult,
    CircuitBreaker,
    DeadlineInverted,
    Outcome,
    RetryPolicy,
    _report,
    guarded_call,
)

from .recorder import Recorder
from .test_retry import Callee

pytestmark = pytest.mark.anyio


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(_report, "sink", recorder)
    return recorder


async def opened(threshold: int = 1, cooldown: float = 60) -> CircuitBreaker:
    breaker = CircuitBreaker("odoo", threshold=threshold, cooldown=cooldown)
    for _ in range(threshold):
        with breaker.admit() as permit:
            permit.strike("transport")
    return breaker


@pytest.mark.promise("one-record-a-call")
async def test_one_record_says_bucket_seconds_attempts_and_breaker(recorder: Recorder) -> None:
    breaker = CircuitBreaker("odoo")

    result = await guarded_call(breaker, Callee(["drop", "ok"]), 5, idempotent=True)

    assert (result.bucket, result.attempts, result.breaker) == ("ok", 2, "closed")
    assert result.elapsed == pytest.approx(anyio.current_time())
    assert recorder.named("call", "end") == [
        ("call", "odoo", {"limit": 5, "idempotent": True}),
        ("end", "ok", {}),
    ]
    assert recorder.named("phase") == [("phase", "backoff")]


@pytest.mark.promise("one-record-a-call")
async def test_a_cut_off_is_recorded_with_the_limit_that_fired(recorder: Recorder) -> None:
    await guarded_call(CircuitBreaker("odoo"), Callee(["hang"]), 5)

    assert recorder.named("end") == [
        ("end", "deadline", {"error_type": "timeout", "limit": 5, "limit_source": "guard"})
    ]


@pytest.mark.promise("guard-order", "open-does-not-touch", "open-is-the-steps-choice")
async def test_an_open_breaker_fails_the_step_without_calling(recorder: Recorder) -> None:
    callee = Callee(["ok"])

    with pytest.raises(BreakerOpen, match="breaker 'odoo' is open"):
        await guarded_call(await opened(), callee, 5, idempotent=True)

    assert callee.began == []
    assert recorder.named("reject", "end") == [("reject", "breaker_open")]


@pytest.mark.promise("open-does-not-touch", "open-is-the-steps-choice")
async def test_an_open_breaker_may_skip_the_step_instead() -> None:
    callee = Callee(["ok"])

    result = await guarded_call(await opened(), callee, 5, on_open="skip")

    assert callee.began == []
    assert isinstance(result.error, BreakerOpen)
    assert result == CallResult(
        Outcome.REJECTED,
        detail=result.detail,
        error=result.error,
        attempts=0,
        breaker="open",
        sent=False,
        cause="breaker_open",
        error_type="breaker_open",
    )


@pytest.mark.promise("guard-order")
async def test_retries_stop_when_their_own_failures_open_the_breaker() -> None:
    breaker = CircuitBreaker("odoo", threshold=2)

    result = await guarded_call(breaker, Callee(["drop"]), 5, policy=RetryPolicy(max_attempts=9), idempotent=True)

    assert (result.outcome, result.attempts, result.breaker) == (Outcome.DISCONNECTED, 2, "closed")
    assert breaker.state == "open"


@pytest.mark.promise("one-probe")
async def test_the_probe_is_one_attempt_even_if_more_are_allowed() -> None:
    breaker = await opened()
    await anyio.sleep(60)
    callee = Callee(["denied", "drop"])

    result = await guarded_call(breaker, callee, 5, idempotent=True)
    again = await guarded_call(breaker, callee, 5, idempotent=True)

    assert (result.attempts, again.attempts, breaker.state) == (1, 1, "open")
    assert (result.breaker, again.breaker) == ("half_open", "half_open")


@pytest.mark.promise("probe-slot-freed", "caller-cancel-passes")
async def test_a_cancelled_probe_leaves_the_slot_to_the_next_call() -> None:
    breaker = await opened()
    await anyio.sleep(60)

    with anyio.move_on_after(9):
        async with anyio.create_task_group() as group:
            group.start_soon(guarded_call, breaker, Callee(["hang"]), 5.0)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
    result = await guarded_call(breaker, Callee(["ok"]), 5)

    assert (result.outcome, result.breaker, breaker.state) == (Outcome.OK, "half_open", "closed")


@pytest.mark.promise("burst-counts-once")
async def test_eight_calls_cut_off_together_do_not_open_the_breaker() -> None:
    breaker = CircuitBreaker("odoo", threshold=3)
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(guarded_call, breaker, Callee(["hang"]), 5.0)

    assert (breaker.state, len(breaker.statistics().strikes)) == ("closed", 1)


@pytest.mark.promise("strike-mix-visible")
async def test_the_report_hears_of_every_strike_and_of_the_opening_with_its_mix(recorder: Recorder) -> None:
    breaker = CircuitBreaker("odoo", threshold=2, cooldown=60)
    await guarded_call(breaker, Callee(["hang"]), 5)
    await guarded_call(breaker, Callee(["drop"]), 5)
    await anyio.sleep(60)
    await guarded_call(breaker, Callee(["ok"]), 5)

    mix = {"deadline": 1, "transport": 1}
    assert recorder.named("strike", "breaker") == [
        ("strike", "odoo", "deadline"),
        ("strike", "odoo", "transport"),
        ("breaker", "odoo", "open", {"cause": "transport", "strikes": mix, "cooldown": 60.0}),
        ("breaker", "odoo", "half_open", {"cause": "transport", "strikes": mix}),
        ("breaker", "odoo", "closed", {}),
    ]


@pytest.mark.promise("deadline-inverted")
async def test_an_inverted_deadline_is_raised_before_the_breaker_is_asked() -> None:
    breaker = CircuitBreaker("odoo")
    with anyio.fail_after(5), pytest.raises(DeadlineInverted):
        await guarded_call(breaker, Callee(["ok"]), 5)

    assert breaker.statistics().probes == 0


async def test_an_unknown_choice_for_an_open_breaker_is_refused() -> None:
    with pytest.raises(ValueError, match='on_open must be "fail" or "skip", got \'wait\''):
        await guarded_call(CircuitBreaker("odoo"), Callee(["ok"]), 5, on_open="wait")  # type: ignore[arg-type]
