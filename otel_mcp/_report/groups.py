"""Calls counted by connector, tool, local hour and day, and by band, as arrays and sums."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any

import numpy as np

from otel_mcp._report import clock
from otel_mcp._report.engine import CallLog
from otel_mcp._report.model import Counts
from otel_mcp._report.queries import AGES, IDLES, STEPS
from otel_mcp._report.statistics import Ints


@dataclass(frozen=True)
class Table:
    """Counts in strata × cells. Rejected and cancelled calls are not in `base`."""

    calls: Ints
    base: Ints
    deadlines: Ints

    def cell(self, index: int) -> Counts:
        """All strata of one cell together."""
        calls, base = int(self.calls[:, index].sum()), int(self.base[:, index].sum())
        return Counts(calls, int(self.deadlines[:, index].sum()), calls - base)

    def total(self) -> Counts:
        calls = int(self.calls.sum())
        return Counts(calls, int(self.deadlines.sum()), calls - int(self.base.sum()))

    def strata(self, chosen: Any) -> Table:
        """The strata of a mask."""
        return Table(self.calls[chosen], self.base[chosen], self.deadlines[chosen])


class Slots:
    """Calls by connector, tool and five-minute slot: from it come hours, weekdays, days, tools and incidents."""

    def __init__(self, log: CallLog, tz: tzinfo) -> None:
        found = log.arrays("""
            WITH names AS (SELECT DISTINCT connector FROM slots),
            numbered AS (SELECT connector, row_number() OVER (ORDER BY connector) - 1 AS c FROM names),
            pairs AS (SELECT DISTINCT connector, tool FROM slots),
            tools AS (SELECT connector, tool, row_number() OVER (ORDER BY connector, tool) - 1 AS t FROM pairs)
            SELECT c, t, slot, calls, deadlines, calls - left_out AS base
            FROM slots JOIN numbered USING (connector) JOIN tools USING (connector, tool)
        """)
        self.pairs: list[tuple[str, str]] = log.rows("SELECT DISTINCT connector, tool FROM slots ORDER BY ALL")
        self.connectors = sorted({connector for connector, _ in self.pairs}, key=lambda name: name.encode())
        self.connector, self.pair, self.slot, self.calls, self.deadlines, self.base = (
            np.asarray(found[name], dtype=np.int64) for name in ("c", "t", "slot", "calls", "deadlines", "base")
        )
        self.local = clock.local(self.slot, tz)
        self.first_day = int(np.min(self.local.day)) if self.slot.size else 0
        self.days = int(np.max(self.local.day)) - self.first_day + 1 if self.slot.size else 0

    @property
    def day(self) -> Ints:
        """Local day of each row, from 0."""
        return self.local.day - self.first_day

    def date(self, day: int) -> date:
        return date.fromordinal(self.first_day + day)

    def weekday(self, day: int) -> int:
        """0 is Monday."""
        return self.date(day).weekday()

    def table(self, stratum: Ints, cell: Ints, shape: tuple[int, int], chosen: Any = slice(None)) -> Table:
        """Sum the chosen rows into strata × cells."""
        place = stratum[chosen] * shape[1] + cell[chosen]

        def summed(values: Ints) -> Ints:
            return np.bincount(place, values[chosen], shape[0] * shape[1]).astype(np.int64).reshape(shape)

        return Table(summed(self.calls), summed(self.base), summed(self.deadlines))

    def hours(self, connector: int) -> Table:
        """Days × hours of one connector."""
        return self.table(self.day, self.local.hour, (self.days, 24), self.connector == connector)

    def by_connector(self) -> Table:
        """Days × connectors."""
        return self.table(self.day, self.connector, (self.days, len(self.connectors)))

    def by_tool(self, connector: int) -> tuple[list[int], Table]:
        """Days × tools of one connector; the first part names the tools by their index in `pairs`."""
        name = self.connectors[connector]
        tools = [index for index, pair in enumerate(self.pairs) if pair[0] == name]
        cell = self.pair - tools[0]
        return tools, self.table(self.day, cell, (self.days, len(tools)), self.connector == connector)


@dataclass(frozen=True)
class Bands:
    """One connector's calls by UTC day and band of a measure."""

    connector: str
    measure: str
    labels: tuple[str, ...]
    table: Table


def bands(log: CallLog, column: str, measure: str, labels: tuple[str, ...]) -> Iterator[Bands]:
    """Calls by UTC day and band, connector by connector."""
    sums = "sum(calls)::BIGINT, sum(calls - left_out)::BIGINT, sum(deadlines)::BIGINT"
    rows = log.rows(
        f"SELECT connector, utc_day, CAST({column} AS INT) AS band, {sums} FROM bands "  # noqa: S608
        f"WHERE {column} IS NOT NULL GROUP BY connector, utc_day, band ORDER BY ALL"
    )
    for connector in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == connector]
        days = {day: index for index, day in enumerate(sorted({row[1] for row in own}))}
        parts = np.zeros((3, len(days), len(labels)), dtype=np.int64)
        for _, day, band, *numbers in own:
            parts[:, days[day], band] = numbers
        yield Bands(connector, measure, labels, Table(*parts))


def _labels(bounds: Iterable[float]) -> tuple[str, ...]:
    ends = [span(bound) for bound in bounds]
    between = (f"{low} to {high}" for low, high in itertools.pairwise(ends))
    return (f"under {ends[0]}", *between, f"over {ends[-1]}")


def span(seconds: float) -> str:
    """A length of time as people say it: 4.2 s, 15 min, 6 h, 3 days."""
    for unit, size in (("days", 2 * 86400.0), ("h", 7200.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / {'days': 86400.0, 'h': 3600.0, 'min': 60.0}[unit]:.3g} {unit}"
    return {3600.0: "1 h", 86400.0: "1 day", 60.0: "1 min"}.get(seconds, f"{seconds:.3g} s")


def ages(log: CallLog) -> list[Bands]:
    return list(bands(log, "age_band", "the session's age", _labels(AGES)))


def idles(log: CallLog) -> list[Bands]:
    return list(bands(log, "idle_band", "its idle time before the call", _labels(IDLES)))


def overlaps(log: CallLog) -> list[Bands]:
    return list(bands(log, "overlap", "keepalive", ("no probe open", "a probe open")))


def durations(log: CallLog) -> dict[tuple[str, str, float | None], list[tuple[float, int]]]:
    """Of calls that ended `ok`, by connector, tool and limit: (seconds, number), shortest first."""
    found: dict[tuple[str, str, float | None], list[tuple[float, int]]] = {}
    for connector, tool, limit, step, calls in log.rows(
        "SELECT connector, tool, \"limit\", step, calls FROM durations WHERE outcome = 'ok' ORDER BY step"
    ):
        found.setdefault((connector, tool, limit), []).append((2.0 ** (step / STEPS), calls))
    return found


def quantile(steps: list[tuple[float, int]], fraction: float) -> float | None:
    """Of counted durations in seconds, shortest first; None of none."""
    wanted = fraction * sum(calls for _, calls in steps)
    seen = 0
    for seconds, calls in steps:
        seen += calls
        if seen >= wanted:
            return seconds
    return None
