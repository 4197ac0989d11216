"""The report on a terminal: findings first, then the heat map, then the connectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from otel_mcp._ground.text import visible
from otel_mcp._report.groups import span
from otel_mcp._report.model import Cell, Counts, Finding, Report
from otel_mcp._report.statistics import interval
from otel_mcp._report.wording import NO_FINDING, counted, percent

HEAT: Final = ((0.25, "on red3 white"), (0.10, "on orange3 black"), (0.03, "on gold3 black"), (0.0, "on grey23 white"))
"""Deadline share from which a cell of the map has that colour; the digits say the same without colour."""
_NAME: Final = 20


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich ends the program here, with 1: to us that means that a condition holds."""
        raise BrokenPipeError


def console() -> Console:
    """For the report on stdout; follows NO_COLOR and, off a terminal, writes plain text."""
    return _Console(highlight=False)


def show(report: Report, on: Console) -> None:
    """Print the report."""
    on.print(_head(report))
    on.print(_findings(report.findings))
    if report.cells:
        on.print(_map(report, on.width))
        on.print(_connectors(report))


def _head(report: Report) -> RenderableType:
    line = Text.assemble(
        (counted(report.total.calls, "call"), "bold"),
        f", {counted(report.total.deadlines, 'deadline')} ({percent(report.total.share)})",
    )
    if report.since and report.until:
        line.append(f", {report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC")
    if report.skipped_lines:
        line.append(f"; {counted(report.skipped_lines, 'line')} skipped", "yellow")
    if report.simulated:
        line.append("; SIMULATED DATA", "bold magenta")
    return line


def _findings(findings: Iterable[Finding]) -> RenderableType:
    parts: list[RenderableType] = [Text("")]
    for finding in findings:
        parts.append(Text.assemble(("● ", "red"), clean(finding.sentence)))
        parts.append(Padding(Text.assemble(("→ ", "green"), clean(finding.next_step)), (0, 0, 1, 2)))
    if len(parts) == 1:
        parts.append(Text(f"{NO_FINDING}\n", "green"))
    return Group(*parts)


def clean(text: str) -> Text:
    """Text as it is: no markup in it is obeyed, no control character reaches the terminal."""
    return Text(visible(text))


def _map(report: Report, width: int) -> RenderableType:
    # Below 24 columns of three a map would wrap into nonsense: then two hours share one column.
    step = 1 if width >= _NAME + 24 * 3 else 2 if width >= _NAME + 12 * 3 else 4
    shared = {1: "", 2: "; two hours a column", 4: "; four hours a column"}[step]
    table = Table(
        title=f"Deadline share by connector and hour of the day ({report.tz}{shared}); numbers are percent, · is none",
        title_justify="left", box=None, padding=0, pad_edge=False,
    )  # fmt: skip
    table.add_column("")
    for hour in range(0, 24, step):
        table.add_column(f"{hour:02}", justify="right", width=3)
    for connector, cells in _by_connector(report.cells).items():
        parts = [[cells.get(hour + i, Counts()) for i in range(step)] for hour in range(0, 24, step)]
        table.add_row(_name(connector), *(_heat(sum(part, Counts())) for part in parts))
    return Group(table, Text(""))


def _by_connector(cells: Iterable[Cell]) -> dict[str, dict[int, Counts]]:
    found: dict[str, dict[int, Counts]] = {}
    for cell in cells:
        found.setdefault(cell.connector, {})[cell.hour] = cell.counts
    return found


def _heat(counts: Counts) -> Text:
    if not counts.base:
        return Text("")
    if not counts.deadlines:
        return Text("  ·", "grey50")
    share = counts.share or 0.0
    style = next(style for bound, style in HEAT if share >= bound)
    return Text(f"{'<1' if share < 0.01 else round(share * 100):>3}", Style.parse(style))


def _name(connector: str) -> Text:
    text = clean(connector)
    text.truncate(_NAME - 1, overflow="ellipsis")
    text.append(" ")
    return text


def _connectors(report: Report) -> RenderableType:
    table = Table(title="Connectors", title_justify="left", box=None, pad_edge=False)
    for heading in ("", "calls", "deadlines", "share", "95 % interval", "median", "p95"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in sorted(report.connectors, key=lambda row: -(row.counts.share or 0.0)):
        low, high = interval(row.counts.deadlines, row.counts.base)
        table.add_row(
            _name(row.connector), f"{row.counts.calls:,}", f"{row.counts.deadlines:,}", percent(row.counts.share),
            f"{percent(low)} to {percent(high)}" if row.counts.base else "–",
            *("–" if value is None else span(value) for value in (row.median, row.p95)),
        )  # fmt: skip
    return table
