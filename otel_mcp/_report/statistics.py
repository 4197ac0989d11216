"""The tests behind every claim.

**What is tested.** A connector's log is cut into strata (days) and, in each, into cells (hours of the day, tools,
connectors, bands of idle time). A cell is *bad* in a stratum if it had more deadlines than nineteen cells in twenty
would have at the share of all other cells. Under the hypothesis that the cells do not differ, a stratum's bad marks
could as well stand on any of its cells. So the number of strata in which one cell is bad is a sum of independent coin
tosses of known odds, a Poisson-binomial variable, and its upper tail is the p-value: a permutation test within strata,
in closed form.

**Why so.** A stratum counts at most once for a cell, so an outage of one night is one observation, however many calls
it cut off. A bad day raises all of that day's odds, so it speaks for no hour. The odds of a cell are the larger of
its share of the cells (outages strike a stretch of time) and its share of the chance that its number of calls gives
(failures strike calls), which holds the error down under either.

**Many cells.** All p-values go through Benjamini-Yekutieli (2001), which bounds the false discovery rate whatever the
dependence: cells overlap (a Monday at six is also a six o'clock), and marks within a stratum compete.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FALSE_DISCOVERY_RATE: Final = 0.05
BAD_TAIL: Final = 0.05
"""A cell is bad if its deadlines are in the upper twentieth of what its calls would give. The rarer a mark, the more
one says: four Mondays suffice if nothing else is marked on them."""


def bad_marks(base: Ints, deadlines: Ints) -> tuple[Bools, Floats]:
    """Which cells of strata × cells are bad, and how likely each was to be, given its calls and one share for all."""
    calls = np.maximum(base, 1)
    share = float(deadlines.sum()) / max(int(base.sum()), 1)
    chance = np.where(base > 0, stats.binom.sf(_most(calls, share), calls, share), 0.0)
    # A cell is not measured by itself: it may hold most deadlines. The others' share is known only so well, so the
    # upper end of its interval (Clopper-Pearson, 95 %) is taken.
    others, cut = base.sum() - base.sum(axis=0), deadlines.sum() - deadlines.sum(axis=0)
    upper = np.where(others > cut, stats.beta.ppf(0.95, cut + 1, np.maximum(others - cut, 1)), 1.0)
    return np.asarray(deadlines > _most(calls, upper)), np.asarray(chance, dtype=np.float64)


def _most(calls: Ints, share: Any) -> Any:
    """The most deadlines that are still nothing special."""
    return np.maximum(stats.binom.isf(BAD_TAIL, calls, share), 0)


def stratified_tail(bad: Bools, chance: Floats, active: Bools) -> tuple[Ints, Floats]:
    """For each cell: in how many strata it was bad, and the probability of that many or more.

    All arrays are strata × cells. Rows without a mark carry no information and are left out.
    """
    told = bad.any(axis=1)
    bad, chance, active = bad[told], chance[told], active[told]
    marks = bad.sum(axis=1, keepdims=True)
    even = active / np.maximum(active.sum(axis=1, keepdims=True), 1)
    weight = np.where(active, chance, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    by_calls = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    odds = np.minimum(marks * np.maximum(even, by_calls), 1.0)
    hits = bad.sum(axis=0)
    return np.asarray(hits, dtype=np.int64), poisson_binomial_tail(odds, hits)


def poisson_binomial_tail(odds: Floats, at_least: npt.NDArray[Any]) -> Floats:
    """For each column: the chance of `at_least` or more successes in independent trials with these odds."""
    trials, cells = odds.shape
    pmf = np.zeros((cells, trials + 1))
    pmf[:, 0] = 1.0
    for row in odds:
        p = row[:, None]
        pmf[:, 1:] = pmf[:, 1:] * (1 - p) + pmf[:, :-1] * p
        pmf[:, :1] *= 1 - p
    upper = np.where(np.arange(trials + 1) >= np.asarray(at_least)[:, None], pmf, 0.0).sum(axis=1)
    return np.asarray(np.minimum(upper, 1.0), dtype=np.float64)


def adjusted(p_values: Floats) -> Floats:
    """Benjamini-Yekutieli: the smallest false discovery rate at which each would be claimed."""
    if not p_values.size:
        return p_values
    return np.asarray(stats.false_discovery_control(p_values, method="by"), dtype=np.float64)


def interval(deadlines: int, base: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a share; (0, 1) where there is nothing."""
    if not base:
        return 0.0, 1.0
    found = stats.binomtest(deadlines, base).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


def run_p_value(deadlines: int, base: int, outside: float, all_deadlines: int) -> float:
    """The chance of so dense a run of deadlines anywhere in the log.

    A run begins and ends at a deadline, so there are at most n(n+1)/2 of them to choose from; the binomial tail
    times that number bounds the chance of the densest one (union bound).
    """
    choices = all_deadlines * (all_deadlines + 1) / 2
    return float(min(1.0, stats.binom.sf(deadlines - 1, base, outside) * choices))
