"""Outages: runs of deadlines that belong together, and those that struck several connectors at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from otel_mcp._report.groups import Slots
from otel_mcp._report.statistics import FALSE_DISCOVERY_RATE, Ints, run_p_value

DOWN: Final = 0.5
"""A slot in which at least half of the calls ran into their deadline belongs to a run."""
GAP: Final = 6
"""Slots. Runs no further apart than half an hour are one: in a long outage some calls get through."""
MIN_DEADLINES: Final = 5
TOGETHER: Final = 0.75
"""Of the connectors in use, so many failed at once: then the cause is not theirs."""


@dataclass(frozen=True)
class Run:
    """A run of slots in which most calls of a connector were cut off."""

    connector: str
    first: int
    last: int
    """Slots, both included."""
    base: int
    deadlines: int
    p_value: float
    """For a run as dense anywhere in this connector's log, times the number of connectors."""

    def meets(self, other: Run) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Shared:
    """Runs of several connectors at the same time."""

    runs: tuple[Run, ...]
    in_use: int
    """Connectors that had calls in that time."""

    @property
    def first(self) -> int:
        return min(run.first for run in self.runs)

    @property
    def last(self) -> int:
        return max(run.last for run in self.runs)


def runs(slots: Slots) -> list[Run]:
    """All runs of two deadlines and more, oldest first; a claim needs `is_incident`."""
    found = [run for number in range(len(slots.connectors)) for run in _of_connector(slots, number)]
    return sorted((replace(run, p_value=min(1.0, run.p_value * len(slots.connectors))) for run in found),
                  key=lambda run: (run.first, run.connector))  # fmt: skip


def is_incident(run: Run) -> bool:
    """Enough deadlines, and too dense for chance."""
    return run.deadlines >= MIN_DEADLINES and run.p_value <= FALSE_DISCOVERY_RATE


def _of_connector(slots: Slots, number: int) -> Iterator[Run]:
    own = slots.connector == number
    times, place = np.unique(slots.slot[own], return_inverse=True)
    base: Ints = np.bincount(place, slots.base[own]).astype(np.int64)
    deadlines: Ints = np.bincount(place, slots.deadlines[own]).astype(np.int64)
    down = np.flatnonzero((deadlines > 0) & (deadlines >= DOWN * base))
    if not down.size:
        return
    all_base, all_deadlines = int(base.sum()), int(deadlines.sum())
    for part in np.split(down, np.flatnonzero(np.diff(times[down]) > GAP) + 1):
        whole = slice(int(part[0]), int(part[-1]) + 1)
        n, d = int(base[whole].sum()), int(deadlines[whole].sum())
        if d < 2 or d < DOWN * n:
            continue
        outside = (all_deadlines - d) / (all_base - n) if all_base > n else 1.0
        # Where the rest has no deadline at all, one more call there might have had one.
        outside = max(outside, 1 / (all_base - n + 1))
        p = run_p_value(d, n, outside, all_deadlines)
        yield Run(slots.connectors[number], int(times[part[0]]), int(times[part[-1]]), n, d, p)


def shared(slots: Slots, all_runs: list[Run]) -> list[Shared]:
    """Times at which at least two connectors, and three in four of those in use, were cut off together."""
    found = []
    for group in _meeting(all_runs):
        names = {run.connector for run in group}
        if len(names) < 2 or sum(run.deadlines for run in group) < MIN_DEADLINES:
            continue
        # Judged in the time all of them share: before and after it, others may well have had calls that went through.
        first, last = max(run.first for run in group), min(run.last for run in group)
        first, last = min(first, last), max(first, last)
        inside = (slots.slot >= first) & (slots.slot <= last) & (slots.base > 0)
        in_use = len(set(slots.connector[inside].tolist()) | {slots.connectors.index(name) for name in names})
        if len(names) >= TOGETHER * in_use and min(run.p_value for run in group) <= FALSE_DISCOVERY_RATE:
            found.append(Shared(tuple(group), in_use))
    return found


def _meeting(all_runs: list[Run]) -> Iterator[list[Run]]:
    group: list[Run] = []
    for run in all_runs:
        if group and run.first > max(other.last for other in group):
            yield group
            group = []
        group.append(run)
    if group:
        yield group
