"""Panels of the classic dashboard model as plain dictionaries: what differs from panel to panel, nothing else.

What is the same everywhere (data source, ids, positions, legends, tooltips) is added in one pass by `defaults`.
"""

from __future__ import annotations

from typing import Any

from dashboards import settings
from dashboards.queries import CONNECTOR

Panel = dict[str, Any]
Steps = list[tuple[float | None, str]]

GREEN, YELLOW, ORANGE, RED, BLUE, GREY = "#73bf69", "#fade2a", "#ff9830", "#f2495c", "#5794f2", "#8e8e8e"
CLEAR = "transparent"
SHARE_STEPS: Steps = [
    (None, CLEAR),
    (settings.SHARE_NOTICE, YELLOW),
    (settings.SHARE_WARN, ORANGE),
    (settings.SHARE_RED, RED),
]
"""The base is transparent: a continuous scheme would paint empty cells in its lowest colour."""
PLAIN: Steps = [(None, BLUE)]


def bad_above(warn: float, bad: float) -> Steps:
    return [(None, GREEN), (warn, ORANGE), (bad, RED)]


KEEP = "${datasource:queryparam}&${job:queryparam}&${instance:queryparam}&${__url_time_range}"


def link_to_connector(value: str) -> dict[str, Any]:
    url = f"/d/{settings.CONNECTOR_UID}?var-connector={value}&{KEEP}"
    return {"title": "Open this connector", "url": url, "targetBlank": False}


def target(expr: str, legend: str = "", **more: Any) -> dict[str, Any]:
    return {"expr": expr, "legendFormat": legend or "__auto", "range": True, "instant": False, **more}


def now(expr: str, legend: str = "") -> dict[str, Any]:
    return target(expr, legend, range=False, instant=True)


def rows_of(expr: str) -> dict[str, Any]:
    """One row of a table for each series, evaluated at the end of the range."""
    return now(expr) | {"format": "table"}


def panel(kind: str, title: str, description: str, targets: list[dict[str, Any]], unit: str, steps: Steps) -> Panel:
    return {
        "type": kind,
        "title": title,
        "description": description,
        "targets": targets,
        "fieldConfig": {
            "defaults": {
                "unit": unit,
                "color": {"mode": "thresholds"},
                "thresholds": {"mode": "absolute", "steps": [{"value": v, "color": c} for v, c in steps]},
            },
            "overrides": [],
        },
        "options": {},
    }


def stat(title: str, description: str, expr: str, unit: str, steps: Steps, *, none: str = "0", w: int = 6) -> Panel:
    """One big number. `none` is shown where the query finds nothing, which is often the good news."""
    made = panel("stat", title, description, [now(expr)], unit, steps)
    made["fieldConfig"]["defaults"]["noValue"] = none
    made["options"] = {"colorMode": "value", "graphMode": "none", "reduceOptions": {"calcs": ["lastNotNull"]}}
    return made | {"gridPos": {"w": w, "h": 4}}


def graph(
    title: str, description: str, targets: list[dict[str, Any]], unit: str, steps: Steps | None = None, *,
    w: int = 12, h: int = 8, by_connector: bool = False, most: float | None = None,
) -> Panel:  # fmt: skip
    """Lines over time, never stacked. Thresholds, if given, are drawn as dashed lines."""
    made = panel("timeseries", title, description, targets, unit, steps or PLAIN)
    fields = made["fieldConfig"]["defaults"]
    fields["color"] = {"mode": "palette-classic"}
    fields["min"] = 0
    if most is not None:
        fields["max"] = most
    fields["custom"] = {"thresholdsStyle": {"mode": "dashed" if steps else "off"}}
    if by_connector:
        fields["links"] = [link_to_connector("${__field.labels." + CONNECTOR + "}")]
    return made | {"gridPos": {"w": w, "h": h}}


def timeline(
    title: str, description: str, targets: list[dict[str, Any]], states: list[tuple[int, str, str]], *, w: int = 24
) -> Panel:
    """Coloured bars over time for a number that stands for a state."""
    made = panel("state-timeline", title, description, targets, "none", [(None, GREY)])
    made["fieldConfig"]["defaults"]["mappings"] = mapping(states)
    made["options"] = {"mergeValues": True, "showValue": "auto", "rowHeight": 0.8}
    return made | {"gridPos": {"w": w, "h": 6}}


def mapping(states: list[tuple[int, str, str]]) -> list[dict[str, Any]]:
    options = {str(n): {"text": text, "color": colour, "index": n} for n, text, colour in states}
    return [{"type": "value", "options": options}]


def column(name: str, **properties: Any) -> dict[str, Any]:
    """An override for one field; keyword `custom__width=110` becomes the property `custom.width`."""
    made = [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": made}


PLAIN_CELL = {"type": "auto"}
COLOURED_CELL = {"type": "color-background", "mode": "basic"}


def connector_column(value: str = "${__value.raw}", **properties: Any) -> dict[str, Any]:
    # The link stands on the name only: links on every cell would underline every number.
    return column("Connector", links=[link_to_connector(value)], custom__cellOptions=PLAIN_CELL, **properties)


def table(
    title: str, description: str, queries: dict[str, str], keys: dict[str, str], *, unit: str = "short",
    overrides: list[dict[str, Any]] | None = None, sort: str = "", w: int = 12, h: int = 8, where: Steps | None = None,
) -> Panel:  # fmt: skip
    """Several instant queries joined into one row for each set of `keys`.

    `queries` maps a column's title to its expression, `keys` a label to its title; columns stand in that order.
    """
    refs = [chr(ord("A") + n) for n in range(len(queries))]
    made = panel("table", title, description, [rows_of(expr) for expr in queries.values()], unit, where or PLAIN)
    value = {f"Value #{ref}" if len(refs) > 1 else "Value": name for ref, name in zip(refs, queries, strict=True)}
    order = {name: n for n, name in enumerate((*keys, *value))}
    made["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {
            "excludeByName": {"Time": True}, "indexByName": order, "renameByName": {**keys, **value},
        }},
    ]  # fmt: skip
    made["fieldConfig"]["overrides"] = overrides or []
    if sort:
        made["options"]["sortBy"] = [{"displayName": sort, "desc": True}]
    return made | {"gridPos": {"w": w, "h": h}}


def matrix(
    title: str, description: str, expr: str, row: str, row_title: str, first: dict[str, Any], *, h: int = 12
) -> Panel:
    """Rows by a label, 24 columns by hour, cells coloured by the deadline share.

    Without the first sort the columns come out in the order in which the hours were met.
    """
    made = panel("table", title, description, [rows_of(expr)], "percentunit", SHARE_STEPS)
    corner = f"{row}\\hour"
    made["transformations"] = [
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": "hour"}]}},
        {"id": "groupingToMatrix", "options": {
            "columnField": "hour", "rowField": row, "valueField": "Value", "emptyValue": "null",
        }},
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": corner}]}},
        {"id": "organize", "options": {
            "excludeByName": {}, "indexByName": {}, "renameByName": {corner: row_title},
        }},
    ]  # fmt: skip
    defaults = made["fieldConfig"]["defaults"]
    # 24 columns of 50 px, the least a table draws, and 110 px of name just fit a screen of 1,366 px.
    defaults |= {"decimals": 0, "noValue": ""}
    defaults["custom"] = {"align": "center", "cellOptions": COLOURED_CELL, "minWidth": 40}
    made["fieldConfig"]["overrides"] = [first]
    made["options"] = {"cellHeight": "sm", "frozenColumns": {"left": 1}}
    return made | {"gridPos": {"w": 24, "h": h}}


def days(title: str, description: str, expr: str) -> Panel:
    """Hour of the day from bottom to top, days from left to right."""
    one_a_day = target(expr, "{{hour}}", interval="1d")
    made = panel("heatmap", title, description, [one_a_day], "percentunit", SHARE_STEPS)
    made["fieldConfig"]["defaults"] = {"unit": "percentunit", "custom": {}}
    made["options"] = {
        "calculate": False,
        "cellGap": 1,
        "cellValues": {"unit": "percentunit"},
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 16, "min": 0, "max": 0.5, "fill": "dark-orange"},
        "yAxis": {"axisPlacement": "left", "reverse": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "yHistogram": False},
        "legend": {"show": True},
    }
    return made | {"gridPos": {"w": 24, "h": 12}}


def text(title: str, description: str, content: str, *, w: int = 24, h: int = 5) -> Panel:
    return {
        "type": "text",
        "title": title,
        "description": description,
        "options": {"mode": "markdown", "content": content},
        "gridPos": {"w": w, "h": h},
    }
