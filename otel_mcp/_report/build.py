"""From paths to a report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import groupby

import numpy as np

from otel_mcp._report import causes, clock, clusters, files, incidents, wording
from otel_mcp._report.engine import CallLog, Lines
from otel_mcp._report.groups import Bands, Slots, Table, ages, durations, idles, overlaps, quantile
from otel_mcp._report.model import (
    KINDS,
    BandRow,
    Cell,
    ConnectorRow,
    Counts,
    Day,
    Finding,
    Report,
    ToolRow,
    WeekCell,
)

MOST_OF_A_KIND = 3
"""Outages told one by one, for each connector; the largest first."""


def report_for(
    paths: Sequence[str | os.PathLike[str]],
    *,
    tz: str = "UTC",
    since: datetime | None = None,
    until: datetime | None = None,
    progress: bool = False,
) -> Report:
    """Read call logs and say where deadlines gather, and why.

    `tz` is an IANA name; hours, weekdays and days are local to it. Calls that ended from `since` on and before
    `until` are counted. Raises `ReportError` where there is nothing to report on.
    """
    zone = clock.zone(tz)
    with CallLog(files.find(paths), since=since, until=until, progress=progress) as log:
        return _Builder(log, log.read(), tz, zone, since, until).report()


class _Builder:
    def __init__(
        self, log: CallLog, lines: Lines, tz: str, zone: tzinfo, since: datetime | None, until: datetime | None
    ) -> None:
        self._log, self._lines, self._tz, self._zone = log, lines, tz, zone
        self._since, self._until = since or lines.first, until or lines.last
        self._slots = Slots(log, zone)
        self._ages, self._idles, self._durations = ages(log), idles(log), durations(log)
        self._clusters = clusters.tested(self._slots, self._ages, self._idles, overlaps(log))

    def report(self) -> Report:
        tools = self._tools()
        return Report(
            files=tuple(str(path) for path in self._log.sources.files),
            total=sum((row.counts for row in tools), Counts()),
            skipped_lines=self._lines.all - self._lines.ours,
            since=self._since,
            until=self._until,
            tz=self._tz,
            cells_looked_at=len(self._clusters),
            connectors=self._connectors(tools),
            tools=tools,
            cells=tuple(self._cells()),
            week=tuple(self._week()),
            bands=tuple(_bands(self._ages + self._idles)),
            days=tuple(self._days()),
            findings=tuple(sorted(self._findings(), key=lambda f: (KINDS.index(f.kind), -(f.deadlines or 0)))),
            simulated=self._lines.simulated,
            complaints=tuple(self._log.sources.complaints),
        )

    # --- tables ---------------------------------------------------------------------------------------------------
    def _tools(self) -> tuple[ToolRow, ...]:
        slots = self._slots
        if not slots.pairs:
            return ()
        table = slots.table(np.zeros_like(slots.pair), slots.pair, (1, len(slots.pairs)))
        rows = []
        for index, (connector, tool) in enumerate(slots.pairs):
            steps = self._steps(connector, tool)
            rows.append(ToolRow(connector, tool, table.cell(index), quantile(steps, 0.5), quantile(steps, 0.95)))
        return tuple(rows)

    def _steps(self, connector: str, tool: str | None = None) -> list[tuple[float, int]]:
        merged: dict[float, int] = {}
        for (of, name, _), steps in self._durations.items():
            if of == connector and tool in (None, name):
                for seconds, number in steps:
                    merged[seconds] = merged.get(seconds, 0) + number
        return sorted(merged.items())

    def _connectors(self, tools: tuple[ToolRow, ...]) -> tuple[ConnectorRow, ...]:
        outcomes: dict[str, dict[str, int]] = {}
        for connector, outcome, number in self._log.rows(
            "SELECT connector, outcome, sum(calls)::BIGINT FROM durations GROUP BY ALL ORDER BY ALL"
        ):
            outcomes.setdefault(connector, {})[outcome] = number
        rows = []
        for connector, own in groupby(tools, key=lambda row: row.connector):
            steps = self._steps(connector)
            counts = sum((row.counts for row in own), Counts())
            ended = outcomes.get(connector, {})
            rows.append(ConnectorRow(connector, counts, ended, quantile(steps, 0.5), quantile(steps, 0.95)))
        return tuple(rows)

    def _cells(self) -> list[Cell]:
        cells = []
        for number, connector in enumerate(self._slots.connectors):
            table = self._slots.hours(number)
            cells += [Cell(connector, hour, table.cell(hour)) for hour in range(24)]
        return [cell for cell in cells if cell.counts.calls]

    def _week(self) -> list[WeekCell]:
        slots = self._slots
        place = slots.local.weekday * 24 + slots.local.hour
        table = slots.table(slots.connector, place, (len(slots.connectors), 168))
        return [
            WeekCell(connector, cell // 24, cell % 24, counts)
            for number, connector in enumerate(slots.connectors)
            for cell in range(168)
            if (counts := _at(table, number, cell)).calls
        ]

    def _days(self) -> list[Day]:
        slots = self._slots
        if not slots.connectors:
            return []
        table = slots.by_connector()
        return [
            Day(connector, slots.date(day).isoformat(), _at(table, day, number))
            for number, connector in enumerate(slots.connectors)
            for day in range(slots.days)
        ]

    # --- findings -------------------------------------------------------------------------------------------------
    def _findings(self) -> list[Finding]:
        claimed = clusters.claims(self._clusters)
        return [
            *self._incidents(claimed),
            *(self._cluster(cluster) for cluster in _strongest_bands(claimed)),
            *map(wording.lock, causes.locks(self._log)),
            *map(wording.limit, causes.limits(self._log, self._durations)),
            *map(wording.retry, causes.retries(self._log)),
            *map(wording.never_ended, causes.never_ended(self._log)),
        ]

    def _cluster(self, cluster: clusters.Cluster) -> Finding:
        where = f"connector = {_quoted(cluster.connector)}"
        if cluster.tool is not None:
            where += f" AND tool = {_quoted(cluster.tool)}"
        if cluster.hour is not None:
            where += f" AND slot IN ({self._slots_of(cluster)})"
        phase, tool = causes.leading(self._log, "phase", where), causes.leading(self._log, "tool", where)
        expired = causes.expired(self._log).get(cluster.connector, 0)
        return wording.cluster(cluster, self._tz, phase, tool, expired)

    def _slots_of(self, cluster: clusters.Cluster) -> str:
        slots = self._slots
        chosen = (slots.connector == slots.connectors.index(cluster.connector)) & (slots.deadlines > 0)
        chosen &= slots.local.hour == cluster.hour
        if cluster.weekday is not None:
            chosen &= slots.local.weekday == cluster.weekday
        return ", ".join(map(str, np.unique(slots.slot[chosen]).tolist()))

    def _incidents(self, claimed: list[clusters.Cluster]) -> list[Finding]:
        runs = incidents.runs(self._slots)
        together = incidents.shared(self._slots, runs)
        told = {run for shared in together for run in shared.runs}
        alone = [r for r in runs if r not in told and incidents.is_incident(r) and not self._explained(r, claimed)]
        found = [
            wording.common_cause(shared, causes.overrun(self._log, shared.first, shared.last), self._zone)
            for shared in sorted(together, key=lambda s: -sum(run.deadlines for run in s.runs))[:MOST_OF_A_KIND]
        ]
        for connector in self._slots.connectors:
            own = sorted((run for run in alone if run.connector == connector), key=lambda run: -run.deadlines)
            found += [
                wording.incident(run, len(own) if place == 0 else 1, self._zone)
                for place, run in enumerate(own[:MOST_OF_A_KIND])
            ]
        return found

    def _explained(self, run: incidents.Run, claimed: list[clusters.Cluster]) -> bool:
        """Whether a run falls into a claimed hour: then it is one more instance of a pattern."""
        when = clock.at(run.first).astimezone(self._zone)
        return any(
            cluster.connector == run.connector
            and cluster.hour == when.hour
            and cluster.weekday in (None, when.weekday())
            for cluster in claimed
            if cluster.kind in ("hour", "weekday_hour")
        )


def _at(table: Table, stratum: int, cell: int) -> Counts:
    calls, base = int(table.calls[stratum, cell]), int(table.base[stratum, cell])
    return Counts(calls, int(table.deadlines[stratum, cell]), calls - base)


def _strongest_bands(claimed: list[clusters.Cluster]) -> list[clusters.Cluster]:
    """Of a connector's bands of session age and idle time only the one with the most deadlines is told."""
    best: dict[str, clusters.Cluster] = {}
    for cluster in claimed:
        if cluster.kind == "stale_session":
            other = best.get(cluster.connector)
            if other is None or cluster.counts.deadlines > other.counts.deadlines:
                best[cluster.connector] = cluster
    return [c for c in claimed if c.kind != "stale_session" or best[c.connector] is c]


def _bands(found: list[Bands]) -> list[BandRow]:
    return [
        BandRow(bands.connector, bands.measure, label, counts)
        for bands in found
        for index, label in enumerate(bands.labels)
        if (counts := bands.table.cell(index)).calls
    ]


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
