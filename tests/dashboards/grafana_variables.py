"""What Grafana puts in place of a dashboard's variables before it asks Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dashboards import build

CHOSEN = {
    "job": ".+", "instance": ".+", "connector": ".+", "tz": "0", "min_calls": "20", "recorded": "no",
    "__range": "30d", "__rate_interval": "10m",
}  # fmt: skip


def expanded(expr: str, **chosen: str) -> str:
    values = CHOSEN | chosen
    for name in sorted(values, key=len, reverse=True):
        expr = expr.replace(f"${name}", values[name])
    return expr


def panels(uid: str) -> Iterator[dict[str, Any]]:
    """Every panel of a dashboard but its rows, those in closed rows included."""
    board = next(b for b in build.BOARDS if b.uid == uid)
    for panel in build.dashboard(board)["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def panel(uid: str, title: str) -> dict[str, Any]:
    return next(p for p in panels(uid) if p["title"] == title)


def targets() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(dashboard, panel title, target) of every query there is."""
    for board in build.BOARDS:
        for found in panels(board.uid):
            for target in found.get("targets", []):
                yield board.uid, found["title"], target
