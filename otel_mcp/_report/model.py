"""The report as data. `Report.to_json()` is the document of `otel-mcp report --json`; the page shows the rest too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

REPORT_SCHEMA: Final = 1

Kind = Literal[
    "hour", "weekday_hour", "connector", "tool", "lock", "limit", "stale_session", "keepalive", "retry",
    "common_cause", "incident", "never_ended",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = (
    "common_cause", "hour", "weekday_hour", "connector", "tool", "incident", "never_ended", "limit", "lock",
    "stale_session", "keepalive", "retry",
)  # fmt: skip
"""In the order in which findings are shown."""


@dataclass(frozen=True)
class Counts:
    """Calls in some group. The deadline share leaves out calls that were rejected or cancelled."""

    calls: int = 0
    deadlines: int = 0
    left_out: int = 0
    """Rejected or cancelled."""

    @property
    def base(self) -> int:
        """What the share is a share of."""
        return self.calls - self.left_out

    @property
    def share(self) -> float | None:
        """Deadlines ÷ (all − rejected − cancelled); None where that is nothing."""
        return self.deadlines / self.base if self.base else None

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.calls + other.calls, self.deadlines + other.deadlines, self.left_out + other.left_out)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.calls - other.calls, self.deadlines - other.deadlines, self.left_out - other.left_out)


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing: a sentence with its numbers, and the next step."""

    kind: Kind
    sentence: str
    next_step: str
    connector: str | None = None
    tool: str | None = None
    hour: int | None = None
    """0-23 in the report's time zone."""
    weekday: int | None = None
    """0 is Monday."""
    calls: int | None = None
    deadlines: int | None = None
    share: float | None = None
    lift: float | None = None
    """Share in the group ÷ share in the rest it is compared with; None where the rest has no deadline."""
    p_adjusted: float | None = None
    """Corrected for everything that was looked at; None where the finding is a count and not an inference."""

    def to_json(self) -> dict[str, Any]:
        """The fields of the contract, in its order."""
        return {
            "kind": self.kind, "connector": self.connector, "tool": self.tool, "hour": self.hour,
            "weekday": self.weekday, "calls": self.calls, "deadlines": self.deadlines, "share": self.share,
            "lift": self.lift, "p_adjusted": self.p_adjusted, "sentence": self.sentence, "next_step": self.next_step,
        }  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One connector in one hour of the day."""

    connector: str
    hour: int
    counts: Counts


@dataclass(frozen=True)
class WeekCell:
    """One connector in one hour of one weekday."""

    connector: str
    weekday: int
    hour: int
    counts: Counts


@dataclass(frozen=True)
class ConnectorRow:
    """One connector over the whole log."""

    connector: str
    counts: Counts
    outcomes: dict[str, int]
    median: float | None
    """Seconds, of calls that ended `ok`."""
    p95: float | None


@dataclass(frozen=True)
class ToolRow:
    """One tool of one connector over the whole log."""

    connector: str
    tool: str
    counts: Counts
    median: float | None
    p95: float | None


@dataclass(frozen=True)
class BandRow:
    """Calls of one connector whose session age or idle time fell into one band."""

    connector: str
    measure: str
    band: str
    counts: Counts


@dataclass(frozen=True)
class Day:
    """One connector on one local day."""

    connector: str
    date: str
    counts: Counts


@dataclass(frozen=True)
class Report:
    """Everything that one look at the call logs gave."""

    files: tuple[str, ...]
    total: Counts
    skipped_lines: int
    since: datetime | None
    """End of the first call counted, or the bound that was asked for."""
    until: datetime | None
    tz: str
    cells_looked_at: int
    """Number of groups tested; the correction of `p_adjusted` is for all of them."""
    connectors: tuple[ConnectorRow, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    cells: tuple[Cell, ...] = ()
    week: tuple[WeekCell, ...] = ()
    bands: tuple[BandRow, ...] = ()
    days: tuple[Day, ...] = ()
    findings: tuple[Finding, ...] = ()
    simulated: bool = False
    complaints: tuple[str, ...] = ()
    """One sentence for each file that was left out or read in part."""

    def to_json(self) -> dict[str, Any]:
        """The report document of the contract, schema 1; times in RFC 3339."""
        return {
            "schema": REPORT_SCHEMA,
            "calls": self.total.calls,
            "skipped_lines": self.skipped_lines,
            "since": _rfc3339(self.since),
            "until": _rfc3339(self.until),
            "tz": self.tz,
            "connectors": [{"connector": row.connector, **_numbers(row.counts)} for row in self.connectors],
            "cells": [{"connector": c.connector, "hour": c.hour, **_numbers(c.counts)} for c in self.cells],
            "findings": [finding.to_json() for finding in self.findings],
        }


def _numbers(counts: Counts) -> dict[str, Any]:
    return {"calls": counts.calls, "deadlines": counts.deadlines, "share": counts.share}


def _rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
