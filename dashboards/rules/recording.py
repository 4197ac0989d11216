"""Recorded series: half-hourly increases by job and connector, and the cells of the hour-of-day matrix."""

from __future__ import annotations

from typing import Any

from dashboards import queries as q
from dashboards import settings as s
from otel_mcp._ground import catalogue as c

JC = f"job, {q.CONNECTOR}"
JCH = f"{JC}, hour"


def record(name: str, expr: str) -> dict[str, Any]:
    return {"record": name, "expr": expr, "labels": {s.RECORDED_LABEL: "yes"}}


def half_hourly() -> dict[str, Any]:
    """What panels read when the variable says `recorded`: each half hour's sums, kept at its end and not in between."""
    deadlines = q.around_half_hours(q.increase(q.RULES, c.CALLS, s.BUCKET, q.DEADLINE, by=JC))
    answerable = q.around_half_hours(q.increase(q.RULES, c.CALLS, s.BUCKET, q.ANSWERABLE, by=JC))
    return {
        "name": "otel-mcp-half-hours",
        "interval": s.RECORDING_INTERVAL,
        "rules": [record(s.RECORDED_DEADLINES, deadlines), record(s.RECORDED_ANSWERABLE, answerable)],
    }


def cells() -> dict[str, Any]:
    """What McpDeadlineHotHour compares: each cell's sums over the window, and its fullest single hour.

    The hour that ends now is the half hour that ends now plus the one that ended half an hour ago. Read at whole hours
    only, so that no hour is counted twice.
    """
    deadlines, answerable = q.kept_half_hours(s.RECORDED_DEADLINES), q.kept_half_hours(s.RECORDED_ANSWERABLE)
    whole = f"{deadlines} + {q.kept_half_hours(s.RECORDED_DEADLINES, ago=30)}"
    single_hours = f"({whole}) * on () group_left (hour) {q.hour_of_bucket()}"
    fullest = q.two_digits(f"max_over_time(({single_hours})[{s.HOT_WINDOW}:1h])")
    return {
        "name": "otel-mcp-hour-cells",
        "interval": s.CELLS_INTERVAL,
        "rules": [
            record(s.CELL_DEADLINES, q.folded(deadlines, JCH, s.HOT_WINDOW)),
            record(s.CELL_ANSWERABLE, q.folded(answerable, JCH, s.HOT_WINDOW)),
            record(s.CELL_FULLEST, f"max by ({JCH}) ({fullest})"),
        ],
    }
