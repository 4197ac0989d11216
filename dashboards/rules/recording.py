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
    """What the folding panels read when the variable says `recorded`."""
    deadlines = q.increase(q.RULES, c.CALLS, s.BUCKET, q.DEADLINE, by=JC)
    answerable = q.increase(q.RULES, c.CALLS, s.BUCKET, q.ANSWERABLE, by=JC)
    return {
        "name": "otel-mcp-half-hours",
        "interval": s.RECORDING_INTERVAL,
        "rules": [record(s.RECORDED_DEADLINES, deadlines), record(s.RECORDED_ANSWERABLE, answerable)],
    }


def cells() -> dict[str, Any]:
    """What McpDeadlineHotHour compares: each cell's sums over the window, and its fullest single hour.

    The hour that ends now is the half hour recorded now plus the one recorded half an hour ago. Read at whole hours
    only, so that no hour is counted twice.
    """
    deadlines, answerable = s.RECORDED_DEADLINES, s.RECORDED_ANSWERABLE
    hour = q.hour_of_bucket()
    single_hours = f"({deadlines} + {deadlines} offset {s.BUCKET}) * on () group_left (hour) {hour}"
    fullest = f"max by ({JCH}) (max_over_time(({single_hours})[{s.HOT_WINDOW}:1h]))"
    return {
        "name": "otel-mcp-hour-cells",
        "interval": s.CELLS_INTERVAL,
        "rules": [
            record(s.CELL_DEADLINES, q.folded(deadlines, JCH, s.HOT_WINDOW)),
            record(s.CELL_ANSWERABLE, q.folded(answerable, JCH, s.HOT_WINDOW)),
            record(s.CELL_FULLEST, fullest),
        ],
    }
