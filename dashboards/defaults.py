"""What every dashboard and panel has, added in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboards import settings
from dashboards.panels import Panel

DATASOURCE = {"type": "prometheus", "uid": "$datasource"}
WIDTH = 24


@dataclass(frozen=True)
class Row:
    """A question of its own, answered by the panels below it."""

    title: str
    panels: tuple[Panel, ...]
    collapsed: bool = False


@dataclass(frozen=True)
class Board:
    uid: str
    title: str
    description: str
    variables: tuple[dict[str, Any], ...]
    rows: tuple[Row, ...]
    start: str = "now-24h"


def dashboard(board: Board) -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.description,
        "tags": [settings.TAG],
        "schemaVersion": settings.SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "",
        "timezone": "browser",
        "time": {"from": board.start, "to": "now"},
        "timepicker": {"refresh_intervals": ["30s", "1m", "5m", "15m", "1h"]},
        "annotations": {"list": []},
        "links": [others()],
        "templating": {"list": list(board.variables)},
        "panels": laid_out(board.rows),
    }


def others() -> dict[str, Any]:
    return {
        "type": "dashboards", "title": "MCP dashboards", "tags": [settings.TAG], "asDropdown": False,
        "keepTime": True, "includeVars": True, "targetBlank": False, "icon": "external link", "tooltip": "", "url": "",
    }  # fmt: skip


def laid_out(rows: tuple[Row, ...]) -> list[Panel]:
    """Rows and their panels with ids and positions, filled from left to right."""
    placed: list[Panel] = []
    ids = iter(range(1, 1000))
    y = 0
    for row in rows:
        head: Panel = {"id": next(ids), "type": "row", "title": row.title, "collapsed": row.collapsed, "panels": []}
        placed.append(head | {"gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}})
        y += 1
        x = line = 0
        into = placed[-1]["panels"] if row.collapsed else placed
        for panel in row.panels:
            w, h = panel["gridPos"]["w"], panel["gridPos"]["h"]
            if x + w > WIDTH:
                x, y, line = 0, y + line, 0
            into.append(finished(panel) | {"id": next(ids), "gridPos": {"x": x, "y": y, "w": w, "h": h}})
            x, line = x + w, max(line, h)
        y += line
    return placed


def finished(panel: Panel) -> Panel:
    """The panel with data source, reference letters, legend and tooltip."""
    if panel["type"] == "text":
        return panel
    panel = panel | {"datasource": DATASOURCE}
    panel["targets"] = [
        {"refId": chr(ord("A") + n), "datasource": DATASOURCE, "editorMode": "code"} | t
        for n, t in enumerate(panel["targets"])
    ]
    if panel["type"] in ("timeseries", "state-timeline"):
        panel["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi" if panel["type"] == "timeseries" else "single", "sort": "desc"},
        } | panel["options"]
    if panel["type"] == "timeseries":
        custom = panel["fieldConfig"]["defaults"].setdefault("custom", {})
        panel["fieldConfig"]["defaults"]["custom"] = {
            "drawStyle": "line", "lineWidth": 1, "fillOpacity": 5, "showPoints": "auto", "spanNulls": False,
            "stacking": {"mode": "none", "group": "A"},
        } | custom  # fmt: skip
    return panel
