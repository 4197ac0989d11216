"""`CircuitBreaker`: against a model on a clock of the test's own, and case by case on virtual time."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from otel_mcp.resilience import BreakerOpen, CircuitBreaker, CooldownOutlastsRun, Outcome, Permit

pytestmark = pytest.mark.anyio


def strike(breaker: CircuitBreaker, cause: str = "transport", times: int = 1) -> None:
    for _ in range(times):
        with breaker.admit() as permit:
            permit.strike(cause)


@pytest.mark.promise("answers-reset")
@pytest.mark.parametrize(
    ("outcome", "cause"), [(Outcome.OK, None), (Outcome.TOOL_ERROR, "tool_error"), (Outcome.ERROR, "error")]
)
async def test_an_answer_of_any_kind_clears_the_strikes(outcome: Outcome, cause: str | None) -> None:
    breaker = CircuitBreaker("odoo")
    for _ in range(5):
        strike(breaker, times=2)
        with breaker.admit() as permit:
            permit.record(outcome, cause)

    assert breaker.state == "closed"
    assert breaker.statistics().strikes == ()


@pytest.mark.promise("answers-reset")
async def test_three_rejected_arguments_in_a_row_do_not_open_it() -> None:
    breaker = CircuitBreaker("odoo")
    for _ in range(3):
        with breaker.admit() as permit:
            permit.record(Outcome.TOOL_ERROR, "tool_error")

    assert breaker.state == "closed"
    assert breaker.statistics().ignored == {}


@pytest.mark.promise("answers-reset")
async def test_an_answer_to_a_call_let_through_earlier_closes_an_open_breaker() -> None:
    breaker = CircuitBreaker("odoo", threshold=1)
    slow = breaker.admit()
    strike(breaker)
    assert breaker.state == "open"

    with slow:
        slow.answered()

    assert breaker.state == "closed"


@pytest.mark.promise("strikes-are-a-setting")
async def test_a_host_may_count_tool_errors_by_policy() -> None:
    breaker = CircuitBreaker("odoo", threshold=2, strikes={"tool_error"})
    for _ in range(2):
        with breaker.admit() as permit:
            permit.record(Outcome.TOOL_ERROR, "tool_error")

    assert breaker.state == "open"


@pytest.mark.promise("strikes-are-a-setting")
@pytest.mark.parametrize("cause", ["tool_error", "error", "lock_wait", "rate_limit", "auth", "not_connected"])
async def test_causes_that_say_nothing_about_reachability_do_not_count_by_default(cause: str) -> None:
    breaker = CircuitBreaker("odoo", threshold=1)
    strike(breaker, cause, times=3)

    assert breaker.state == "closed"
    assert breaker.statistics().ignored == {cause: 3}


@pytest.mark.promise("strike-mix-visible")
async def test_the_mix_that_opened_it_stands_in_statistics_and_in_the_refusal() -> None:
    breaker = CircuitBreaker("odoo", cooldown=60)
    strike(breaker, "deadline", times=2)
    await anyio.sleep(10)
    strike(breaker, "transport")
    await anyio.sleep(20)

    with pytest.raises(BreakerOpen, match=r"after transport .strikes: deadline 2, transport 1.; .* in 40.0 s") as open_:
        breaker.admit()

    assert (open_.value.cause, open_.value.strikes) == ("transport", {"deadline": 2, "transport": 1})
    assert open_.value.seconds_left == pytest.approx(40)
    statistics = breaker.statistics()
    assert statistics.opened_by == {"deadline": 2, "transport": 1}
    assert [s.cause for s in statistics.strikes] == ["deadline", "deadline", "transport"]
    assert statistics.strikes[2].time - statistics.strikes[0].time == pytest.approx(10)
    assert (statistics.refused, statistics.opened) == (1, 1)


@pytest.mark.promise("burst-counts-once")
async def test_a_parallel_batch_of_failures_is_one_strike() -> None:
    breaker = CircuitBreaker("odoo")
    batch = [breaker.admit() for _ in range(8)]
    for permit in batch:
        with permit:
            permit.strike("deadline")

    assert breaker.state == "closed"
    assert len(breaker.statistics().strikes) == 1
    assert breaker.statistics().ignored == {"deadline": 7}


@pytest.mark.promise("burst-counts-once")
async def test_three_failures_one_after_the_other_are_three_strikes_however_fast() -> None:
    breaker = CircuitBreaker("odoo")
    strike(breaker, times=3)

    assert breaker.state == "open"


@pytest.mark.promise("one-probe")
async def test_after_the_cool_down_one_call_goes_through_and_others_are_told_its_time_left() -> None:
    breaker = CircuitBreaker("odoo", threshold=1, cooldown=60)
    strike(breaker)
    await anyio.sleep(60)
    assert breaker.state == "half_open"

    with breaker.admit(limit=30) as probe:
        await anyio.sleep(10)
        with pytest.raises(BreakerOpen) as refused:
            breaker.admit()
        assert refused.value.seconds_left == pytest.approx(20)
        probe.answered()

    assert breaker.state == "closed"


@pytest.mark.promise("probe-slot-freed")
@pytest.mark.parametrize(
    ("outcome", "cause", "state"),
    [
        (Outcome.OK, None, "closed"),
        (Outcome.TOOL_ERROR, "tool_error", "closed"),
        (Outcome.ERROR, "error", "closed"),
        (Outcome.DEADLINE, "deadline", "open"),
        (Outcome.DISCONNECTED, "transport", "open"),
        (Outcome.DISCONNECTED, "auth", "half_open"),
        (Outcome.DISCONNECTED, "rate_limit", "half_open"),
        (Outcome.DEADLINE, "lock_wait", "half_open"),
        (Outcome.CANCELLED, None, "half_open"),
    ],
)
async def test_the_probes_slot_is_free_after_every_outcome(outcome: Outcome, cause: str | None, state: str) -> None:
    breaker = CircuitBreaker("odoo", threshold=1, cooldown=60)
    strike(breaker)
    await anyio.sleep(60)

    with breaker.admit() as probe:
        probe.record(outcome, cause)

    assert breaker.state == state
    if state == "open":
        await anyio.sleep(60)
    with breaker.admit():
        pass


@pytest.mark.promise("probe-slot-freed")
async def test_the_probes_slot_is_free_after_a_cancellation() -> None:
    breaker = CircuitBreaker("odoo", threshold=1, cooldown=60)
    strike(breaker)
    await anyio.sleep(60)

    with anyio.move_on_after(5), breaker.admit():
        await anyio.sleep_forever()

    with breaker.admit() as again:
        assert again.is_probe


@pytest.mark.promise("opening-is-logged")
async def test_opening_is_logged_with_cause_mix_and_cool_down(caplog: pytest.LogCaptureFixture) -> None:
    breaker = CircuitBreaker("odoo", threshold=2, cooldown=60)
    with caplog.at_level(logging.WARNING, "otel_mcp"):
        strike(breaker, "deadline", times=2)

    assert [r.getMessage() for r in caplog.records] == [
        "breaker 'odoo' opened for 60 s after deadline (strikes: {'deadline': 2})"
    ]


@pytest.mark.promise("cooldown-outlasts-run")
@pytest.mark.parametrize("cooldown", [300, 301])
def test_a_cool_down_not_shorter_than_the_run_is_said_at_construction(cooldown: float) -> None:
    with pytest.warns(CooldownOutlastsRun, match=f"cool-down of {cooldown} s is not shorter than the run's budget"):
        CircuitBreaker("odoo", cooldown=cooldown, run_budget=300)


@pytest.mark.promise("cooldown-outlasts-run")
def test_a_cool_down_that_fits_is_not_commented_on() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CircuitBreaker("odoo", cooldown=299, run_budget=300)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"threshold": 0}, "threshold must be a whole number of 1 or more, got 0"),
        ({"cooldown": 0}, "cooldown must be a positive number of seconds, got 0"),
        ({"strikes": {"bad luck"}}, "strikes: bad luck is no cause; use some of deadline, transport"),
    ],
)
def test_a_breaker_that_makes_no_sense_says_why(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        CircuitBreaker("odoo", **wrong)


class BreakerMachine(RuleBasedStateMachine):
    """Calls begin and end in any order while time passes; a model says what the breaker must be."""

    THRESHOLD = 3
    COOLDOWN = 60.0

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(anyio, "current_time", lambda: self.now)
        self.breaker = CircuitBreaker("odoo", threshold=self.THRESHOLD, cooldown=self.COOLDOWN)
        self.open_calls: list[tuple[Permit, int]] = []
        self.news = 0
        self.strikes = 0
        self.opened_at: float | None = None

    def teardown(self) -> None:
        self.patch.undo()

    def expected_state(self) -> str:
        if self.opened_at is None:
            return "closed"
        return "open" if self.now < self.opened_at + self.COOLDOWN else "half_open"

    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0, 60.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def a_call_begins(self) -> None:
        state = self.expected_state()
        probing = any(permit.is_probe for permit, _ in self.open_calls)
        if state == "open" or (state == "half_open" and probing):
            with pytest.raises(BreakerOpen) as refused:
                self.breaker.admit()
            assert refused.value.seconds_left >= 0
            return
        self.open_calls.append((self.breaker.admit(), self.news))

    @precondition(lambda self: self.open_calls)
    @rule(data=st.data(), end=st.sampled_from(["answered", "deadline", "transport", "auth", "cancelled"]))
    def a_call_ends(self, data: st.DataObject, end: str) -> None:
        permit, seen = self.open_calls.pop(data.draw(st.integers(0, len(self.open_calls) - 1)))
        with permit:
            if end == "answered":
                permit.answered()
                self.strikes, self.opened_at = 0, None
            elif end != "cancelled":
                permit.strike(end)
                self._model_strike(permit, seen, end)

    def _model_strike(self, permit: Permit, seen: int, cause: str) -> None:
        if cause == "auth" or seen != self.news:
            return
        self.news += 1
        self.strikes += 1
        if permit.is_probe or (self.opened_at is None and self.strikes >= self.THRESHOLD):
            self.opened_at = self.now

    @invariant()
    def the_state_is_the_models(self) -> None:
        assert self.breaker.state == self.expected_state()
        assert len(self.breaker.statistics().strikes) == self.strikes

    @invariant()
    def there_are_never_two_probes(self) -> None:
        assert sum(permit.is_probe for permit, _ in self.open_calls) <= 1


BreakerMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.promise("one-probe", "probe-slot-freed", "burst-counts-once", "answers-reset")
def test_whatever_order_calls_begin_and_end_in_the_breaker_is_what_the_model_says() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(BreakerMachine, settings=BreakerMachine.TestCase.settings)
