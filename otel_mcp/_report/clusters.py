"""Where deadlines gather: the groups that are tested, and which of them may be claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_mcp._report.groups import Bands, Slots, Table
from otel_mcp._report.model import Counts, Kind
from otel_mcp._report.statistics import FALSE_DISCOVERY_RATE, adjusted, bad_marks, stratified_tail

MIN_CALLS: Final = 20
"""A cell with fewer calls is not looked at: its share would be anything."""
MIN_STRATA: Final = 3
"""Bad on fewer days than this is an incident, whatever its p-value."""
MIN_LIFT: Final = 2.0
"""Less than twice the rest's share may be real and is still not worth a person's morning."""
ALONE: Final = 0.2
"""A weekday makes up an hour alone if the other weekdays have at most this part of its share."""


@dataclass(frozen=True)
class Cluster:
    """A group of calls that was tested."""

    kind: Kind
    connector: str
    counts: Counts
    rest: Counts
    strata: int
    """Days on which it was bad."""
    days: int
    """Days on which it had calls."""
    p_value: float
    p_adjusted: float = 1.0
    tool: str | None = None
    hour: int | None = None
    weekday: int | None = None
    measure: str | None = None
    band: str | None = None

    @property
    def lift(self) -> float | None:
        """Its share ÷ the rest's; None where the rest has no deadline."""
        own, rest = self.counts.share, self.rest.share
        return own / rest if own is not None and rest else None

    @property
    def claimed(self) -> bool:
        return (
            self.p_adjusted <= FALSE_DISCOVERY_RATE
            and self.strata >= MIN_STRATA
            and (self.lift is None or self.lift >= MIN_LIFT)
        )


def tested(slots: Slots, ages: list[Bands], idles: list[Bands], overlaps: list[Bands]) -> list[Cluster]:
    """Every group that was looked at, with p-values corrected for all of them."""
    found = [
        *_hours(slots),
        *_connectors(slots),
        *_tools(slots),
        *(cluster for bands in (*ages, *idles) for cluster in _bands("stale_session", bands)),
        *(cluster for bands in overlaps for cluster in _bands("keepalive", bands) if cluster.band == bands.labels[1]),
    ]
    corrected = adjusted(np.array([cluster.p_value for cluster in found]))
    return [_with_p(cluster, float(p)) for cluster, p in zip(found, corrected, strict=True)]


def _with_p(cluster: Cluster, p: float) -> Cluster:
    return Cluster(**{**cluster.__dict__, "p_adjusted": p})


def claims(clusters: list[Cluster]) -> list[Cluster]:
    """The claimed ones, each fact once: of every day at six and Mondays at six, the one that says it all."""
    weekly = [cluster for cluster in clusters if cluster.kind == "weekday_hour"]
    daily = {(c.connector, c.hour) for c in clusters if c.kind == "hour" and c.claimed}
    return [
        _weekday_of(cluster, weekly) or cluster if cluster.kind == "hour" else cluster
        for cluster in clusters
        if cluster.claimed and not (cluster.kind == "weekday_hour" and (cluster.connector, cluster.hour) in daily)
    ]


def _weekday_of(hour: Cluster, weekly: list[Cluster]) -> Cluster | None:
    """The weekday that alone makes up a claimed hour, if there is one.

    Asked only behind a claimed hour (gatekeeping), so its p-value is corrected for the seven weekdays alone.
    """
    for cluster in weekly:
        if (cluster.connector, cluster.hour) != (hour.connector, hour.hour):
            continue
        p = max(hour.p_adjusted, min(1.0, 7 * cluster.p_value))
        others = (hour.counts - cluster.counts).share or 0.0
        if _with_p(cluster, p).claimed and others <= ALONE * (cluster.counts.share or 0.0):
            return _with_p(cluster, p)
    return None


@dataclass(frozen=True)
class _Test:
    counts: Counts
    rest: Counts
    strata: int
    days: int
    p_value: float


def _test(table: Table, whole: Counts | None = None) -> Iterator[tuple[int, _Test]]:
    """Test every cell of a table that has enough calls; lift is over `whole`, else the table, without the cell."""
    everything = table.total()
    if not everything.base:
        return
    whole = whole or everything
    bad, chance = bad_marks(table.base, table.deadlines)
    active = table.base > 0
    hits, p_values = stratified_tail(bad, chance, active)
    for index in np.flatnonzero(table.base.sum(axis=0) >= MIN_CALLS):
        counts = table.cell(int(index))
        yield (
            int(index),
            _Test(counts, whole - counts, int(hits[index]), int(active[:, index].sum()), float(p_values[index])),
        )


def _hours(slots: Slots) -> Iterator[Cluster]:
    weekdays = np.array([slots.weekday(day) for day in range(slots.days)])
    for number, connector in enumerate(slots.connectors):
        table = slots.hours(number)
        whole = table.total()
        for hour, test in _test(table):
            yield Cluster("hour", connector, **test.__dict__, hour=hour)
        for weekday in range(7):
            for hour, test in _test(table.strata(weekdays == weekday), whole):
                yield Cluster("weekday_hour", connector, **test.__dict__, hour=hour, weekday=weekday)


def _connectors(slots: Slots) -> Iterator[Cluster]:
    if len(slots.connectors) > 1:
        for number, test in _test(slots.by_connector()):
            yield Cluster("connector", slots.connectors[number], **test.__dict__)


def _tools(slots: Slots) -> Iterator[Cluster]:
    for number, connector in enumerate(slots.connectors):
        names, table = slots.by_tool(number)
        if len(names) > 1:
            for index, test in _test(table):
                yield Cluster("tool", connector, **test.__dict__, tool=slots.pairs[names[index]][1])


def _bands(kind: Kind, bands: Bands) -> Iterator[Cluster]:
    for index, test in _test(bands.table):
        yield Cluster(kind, bands.connector, **test.__dict__, measure=bands.measure, band=bands.labels[index])
