"""`--fail-on`: conditions under which the command ends with 1, for cron and CI."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from otel_mcp._report.clusters import MIN_CALLS
from otel_mcp._report.errors import BadOption
from otel_mcp._report.model import KINDS, Report

_BOUND: Final = re.compile(r"(deadlines|connector_deadlines|skipped_lines)\s*=\s*(\d+(?:\.\d+)?)\s*(%?)")

USAGE: Final = (
    "deadlines=2% or deadlines=10 (of all calls), connector_deadlines=5% (of any connector), skipped_lines=0,"
    " findings (any), or a kind of finding: " + ", ".join(sorted(KINDS))
)


@dataclass(frozen=True)
class Condition:
    """One condition, as the user wrote it, and whether a report meets it."""

    text: str
    met_by: Callable[[Report], bool]


def parse(texts: list[str]) -> list[Condition]:
    """Conditions from `--fail-on` values, each a comma-separated list; `BadOption` for one that means nothing."""
    return [_parse(part.strip()) for text in texts for part in text.split(",")]


def _parse(text: str) -> Condition:
    if text == "findings":
        return Condition(text, lambda report: bool(report.findings))
    if text in KINDS:
        return Condition(text, lambda report: any(finding.kind == text for finding in report.findings))
    match = _BOUND.fullmatch(text)
    if not match or (match[1] == "skipped_lines" and match[3]):
        raise BadOption(f"--fail-on {text!r} is no condition; use {USAGE}")
    return Condition(text, _bound(match[1], float(match[2]), bool(match[3])))


def _bound(what: str, bound: float, percent: bool) -> Callable[[Report], bool]:
    if what == "skipped_lines":
        return lambda report: report.skipped_lines > bound
    if percent:
        bound /= 100

    def reached(report: Report) -> bool:
        groups = [report.total]
        if what == "connector_deadlines":
            groups = [row.counts for row in report.connectors if row.counts.base >= MIN_CALLS]
        values = [counts.share or 0.0 if percent else counts.deadlines for counts in groups if counts.calls]
        return any(value >= bound and value > 0 for value in values)

    return reached
