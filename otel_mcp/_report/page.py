"""The report as one HTML page: no network, no file beside it; everything from the log is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from otel_mcp._ground.text import visible
from otel_mcp._report.groups import span
from otel_mcp._report.model import ConnectorRow, Counts, Report
from otel_mcp._report.statistics import FALSE_DISCOVERY_RATE, interval
from otel_mcp._report.wording import NO_FINDING, WEEKDAYS, counted, percent

STEPS: Final = (0.01, 0.03, 0.10, 0.25)
"""Deadline shares at which the colour of a cell changes; below the first, and not nothing, it is the faintest."""
_BAR: Final = 26
"""Height of a day's bar."""


def render(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("otel_mcp._report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=visible, percent=percent, heat=heat, known=known, about=about, seconds=_seconds, value=_value
    )
    return environment.get_template("page.html.jinja").render(
        report=report,
        summary=_summary(report),
        skipped=counted(report.skipped_lines, "line") + (" was" if report.skipped_lines == 1 else " were") + " skipped",
        hours=range(24),
        weekdays=WEEKDAYS,
        cells={(cell.connector, cell.hour): cell.counts for cell in report.cells},
        week={(cell.connector, cell.weekday, cell.hour): cell.counts for cell in report.week},
        timelines=[_timeline(report, row) for row in report.connectors],
        nothing=Counts(),
        no_finding=NO_FINDING,
        rate=FALSE_DISCOVERY_RATE,
        bar=_BAR,
    )


def _summary(report: Report) -> str:
    text = f"{counted(report.total.calls, 'call')}, {counted(report.total.deadlines, 'deadline')}"
    text += f" ({percent(report.total.share)})"
    if report.since and report.until:
        text += f", {report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC"
    return text


def heat(counts: Counts) -> str:
    """The class of a cell: `none` without calls, else `h0` (no deadline) to `h5`."""
    if not counts.base:
        return "none"
    if not counts.deadlines:
        return "h0"
    return f"h{1 + sum((counts.share or 0.0) >= step for step in STEPS)}"


def known(counts: Counts) -> str:
    """What a cell of a map says: the share in percent, rounded."""
    if not counts.base:
        return ""
    share = (counts.share or 0.0) * 100
    return "·" if not counts.deadlines else "<1" if share < 1 else f"{share:.0f}"


def about(counts: Counts) -> str:
    """The numbers of a group, with the interval of its share."""
    if not counts.base:
        return "no calls"
    low, high = interval(counts.deadlines, counts.base)
    return (
        f"{counted(counts.deadlines, 'deadline')} in {counted(counts.base, 'call')}:"
        f" {percent(counts.share)} (95 % interval {percent(low)} to {percent(high)})"
    )


def _seconds(value: float | None) -> str:
    return "–" if value is None else span(value)


def _value(value: float | None) -> str:
    """What a column is sorted by; what is unknown comes last."""
    return "-1" if value is None else f"{value:.9g}"


@dataclass(frozen=True)
class _Bar:
    x: int
    calls: int
    """Height of the bar of all calls."""
    deadlines: int
    title: str


@dataclass(frozen=True)
class _Timeline:
    connector: str
    bars: list[_Bar]
    first: str
    last: str


def _timeline(report: Report, row: ConnectorRow) -> _Timeline:
    days = [day for day in report.days if day.connector == row.connector]
    most = max((day.counts.calls for day in days), default=0) or 1
    bars = [
        _Bar(
            x=place * 4,
            calls=-(-day.counts.calls * _BAR // most),
            deadlines=-(-day.counts.deadlines * _BAR // most),
            title=f"{day.date}: {about(day.counts)}",
        )
        for place, day in enumerate(days)
    ]
    return _Timeline(row.connector, bars, days[0].date, days[-1].date)
