from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from otel_mcp._report.statistics import (
    adjusted,
    bad_marks,
    interval,
    poisson_binomial_tail,
    run_p_value,
    stratified_tail,
)

ODDS = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@given(ODDS, st.integers(0, 8))
@settings(max_examples=80, deadline=None)
def test_the_tail_is_what_counting_all_outcomes_gives(odds: list[float], at_least: int) -> None:
    expected = sum(
        math.prod(p if hit else 1 - p for p, hit in zip(odds, hits, strict=True))
        for hits in itertools.product((False, True), repeat=len(odds))
        if sum(hits) >= at_least
    )
    assert poisson_binomial_tail(np.array([odds]).T, np.array([at_least]))[0] == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 40), st.floats(0.001, 0.999), st.integers(0, 40))
@settings(max_examples=80, deadline=None)
def test_with_equal_odds_the_tail_is_the_binomial_one(trials: int, p: float, at_least: int) -> None:
    found = poisson_binomial_tail(np.full((trials, 1), p), np.array([at_least]))[0]
    assert found == pytest.approx(stats.binom.sf(at_least - 1, trials, p), rel=1e-9, abs=1e-300)


def test_each_column_has_its_own_tail() -> None:
    odds = np.array([[0.5, 0.1], [0.5, 0.2]])
    assert poisson_binomial_tail(odds, np.array([2, 1])) == pytest.approx([0.25, 1 - 0.9 * 0.8])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=80, deadline=None)
def test_the_correction_is_that_of_benjamini_and_yekutieli(p_values: list[float]) -> None:
    m = len(p_values)
    factor = sum(1 / i for i in range(1, m + 1))
    order = sorted(range(m), key=lambda i: p_values[i])
    expected, least = [0.0] * m, 1.0
    for rank in range(m, 0, -1):
        least = min(least, p_values[order[rank - 1]] * m * factor / rank)
        expected[order[rank - 1]] = least
    assert adjusted(np.array(p_values)) == pytest.approx(expected)


def test_nothing_to_correct_is_no_error() -> None:
    assert adjusted(np.array([])).size == 0


def test_wilsons_interval_of_ten_in_a_hundred() -> None:
    # z = 1.96: (10 + z²/2 ± z·sqrt(10·90/100 + z²/4)) / (100 + z²)
    assert interval(10, 100) == pytest.approx((0.0552291, 0.1743657), abs=1e-6)
    assert interval(0, 0) == (0.0, 1.0)


@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 1)), min_size=2, max_size=6))
@settings(max_examples=80, deadline=None)
def test_a_mark_is_no_likelier_than_one_in_twenty_and_needs_a_deadline(cells: list[tuple[int, float]]) -> None:
    base = np.array([[calls for calls, _ in cells]])
    deadlines = np.array([[int(calls * share) for calls, share in cells]])
    bad, chance = bad_marks(base, deadlines)
    assert not bad[deadlines == 0].any()
    assert (chance <= 0.05).all()


def test_a_cell_is_measured_by_the_others_share() -> None:
    base = np.array([[100, 100, 100]])
    bad, _ = bad_marks(base, np.array([[9, 1, 1]]))
    assert bad.tolist() == [[True, False, False]]


def test_one_night_counts_once_however_many_calls_it_cut_off() -> None:
    bad = np.zeros((30, 24), dtype=bool)
    bad[7, 3] = True
    chance = np.full((30, 24), 0.02)
    hits, p = stratified_tail(bad, chance, np.ones((30, 24), dtype=bool))
    assert hits[3] == 1
    assert p[3] == pytest.approx(1 / 24)


def test_a_day_that_was_bad_at_every_hour_speaks_for_none() -> None:
    bad = np.ones((5, 24), dtype=bool)
    _, p = stratified_tail(bad, np.full((5, 24), 0.02), np.ones((5, 24), dtype=bool))
    assert p == pytest.approx(np.ones(24))


def test_the_busiest_hour_is_given_the_odds_of_its_calls() -> None:
    bad = np.zeros((4, 3), dtype=bool)
    bad[:, 0] = True
    chance = np.array([[0.08, 0.01, 0.01]] * 4)
    _, p = stratified_tail(bad, chance, np.ones((4, 3), dtype=bool))
    assert p[0] == pytest.approx(0.8**4)


@pytest.mark.parametrize("seed", range(3))
def test_under_the_null_p_values_are_not_smaller_than_they_say(seed: int) -> None:
    draw = np.random.default_rng(seed)
    below = tests = 0
    for _ in range(60):
        base = draw.poisson(draw.uniform(0.5, 30, 24), (30, 24))
        deadlines = draw.binomial(base, 0.02)
        bad, chance = bad_marks(base, deadlines)
        _, p = stratified_tail(bad, chance, base > 0)
        below, tests = below + int((p <= 0.05).sum()), tests + 24
    assert below / tests <= 0.05


def test_a_dense_run_anywhere_is_weighed_against_all_the_runs_there_could_be() -> None:
    assert run_p_value(2, 2, 0.01, 100) == pytest.approx(0.01**2 * 100 * 101 / 2)
    assert run_p_value(10, 10, 0.01, 100) < 1e-15
