"""Recorded series: hourly increases by job and connector, and the cells of the hour-of-day matrix."""

from __future__ import annotations

from typing import Any

from dashboards import queries as q
from dashboards import settings as s
from otel_mcp._ground import catalogue as c

JC = f"job, {q.CONNECTOR}"
JCH = f"{JC}, hour"


def record(name: str, expr: str, **labels: str) -> dict[str, Any]:
    return {"record": name, "expr": expr, "labels": {s.RECORDED_LABEL: "yes", **labels}}


def hourly() -> dict[str, Any]:
    """What panels read when the variable says `recorded`: each hour's sums, kept at its end and not in between.

    Hours that begin at half past are kept half an hour after their end, so that one step reads either kind.
    """
    rules = []
    for name, matcher in ((s.RECORDED_DEADLINES, q.DEADLINE), (s.RECORDED_ANSWERABLE, q.ANSWERABLE)):
        for hours, window in ((s.WHOLE_HOURS, "[1h]"), (s.HALF_HOURS, f"[1h] offset {s.BUCKET}")):
            summed = q.total(JC, f"increase({q.RULES.series(c.CALLS, matcher)}{window})")
            rules.append(record(name, q.at_hours(summed), **{s.HOURS_LABEL: hours}))
    return {"name": "otel-mcp-hours", "interval": s.RECORDING_INTERVAL, "rules": rules}


def cells() -> dict[str, Any]:
    """What McpDeadlineHotHour compares: each cell's sums over the window, and its fullest single hour."""
    deadlines, answerable = (q.kept_hours(f"{n}{{{q.WHOLE}}}") for n in (s.RECORDED_DEADLINES, s.RECORDED_ANSWERABLE))
    single_hours = f"{deadlines} * on () group_left (hour) {q.hour_of(q.start_of('1h'))}"
    fullest = q.two_digits(f"max_over_time(({single_hours})[{s.HOT_WINDOW}:1h])")
    return {
        "name": "otel-mcp-hour-cells",
        "interval": s.CELLS_INTERVAL,
        "rules": [
            record(s.CELL_DEADLINES, q.folded(deadlines, JCH, s.HOT_WINDOW, "1h")),
            record(s.CELL_ANSWERABLE, q.folded(answerable, JCH, s.HOT_WINDOW, "1h")),
            record(s.CELL_FULLEST, f"max by ({JCH}) ({fullest})"),
        ],
    }
