"""Grafana's own transformation code on real query results: what the panels' tables show."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from grafana_variables import expanded, panel
from prometheus_process import required
from simulated_month import Month

from dashboards import settings

pytestmark = [pytest.mark.prometheus, pytest.mark.slow, pytest.mark.xdist_group("month")]

NODE = Path(__file__).parent / "node"
Columns = dict[str, list[Any]]


@pytest.fixture(scope="module")
def modules() -> Path:
    """`@grafana/data`; without it the tests fail on CI and are loudly skipped elsewhere."""
    if not (NODE / "node_modules" / "@grafana" / "data").is_dir():
        missing = f"@grafana/data is not installed: npm ci --ignore-scripts --prefix {NODE}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return NODE


def shown(month: Month, modules: Path, title: str, **chosen: str) -> Columns:
    """The table as Grafana would show it: column title to cells."""
    made = panel(settings.DEADLINES_UID, title)
    frames = [frame_of(month, target["expr"], **chosen) for target in made["targets"]]
    request = json.dumps({"frames": frames, "transformations": made["transformations"]})
    done = subprocess.run(
        [required("node"), "transform.js"], cwd=modules, input=request, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (table,) = json.loads(done.stdout)
    return {column["name"]: column["values"] for column in table}


def frame_of(month: Month, expr: str, **chosen: str) -> list[dict[str, Any]]:
    """What Grafana's Prometheus data source makes of an instant query in table format."""
    found = month.prometheus.instant(expanded(expr, **chosen), month.end)
    labels = sorted({name for metric, _ in found for name in metric})
    return [
        {"name": "Time", "type": "time", "values": [month.end * 1000 for _ in found]},
        *({"name": name, "type": "string", "values": [m.get(name, "") for m, _ in found]} for name in labels),
        {"name": "Value", "type": "number", "values": [value for _, value in found]},
    ]


MATRIX = "At which hour of the day does which connector run out of time?"
HOURS = [f"{hour:02}" for hour in range(24)]


def test_the_matrix_has_a_row_a_connector_and_a_column_an_hour_in_order(month: Month, modules: Path) -> None:
    table = shown(month, modules, MATRIX)
    assert list(table) == ["Connector", *HOURS]
    names = ["simulated-files", "simulated-odoo", "simulated-payroll", "simulated-search", "simulated-warehouse"]
    assert table["Connector"] == names


def test_the_planted_cells_stand_in_their_rows_and_columns(month: Month, modules: Path) -> None:
    table = shown(month, modules, MATRIX)
    rows = table["Connector"]
    red = {(rows[n], hour) for hour in HOURS for n, share in enumerate(table[hour]) if (share or 0) >= 0.1}
    assert red == {
        ("simulated-odoo", "06"), ("simulated-payroll", "03"), ("simulated-payroll", "04"), ("simulated-files", "11"),
    }  # fmt: skip


def test_a_cell_below_the_minimum_of_calls_is_empty_and_not_zero(month: Month, modules: Path) -> None:
    table = shown(month, modules, MATRIX, min_calls="2")
    rare = table["Connector"].index("simulated-rare")
    cells = [table[hour][rare] for hour in HOURS]
    assert len(cells) == 24
    assert shown(month, modules, MATRIX, min_calls="20")["Connector"].count("simulated-rare") == 0


def test_weekdays_are_rows_from_monday_to_sunday(month: Month, modules: Path) -> None:
    table = shown(month, modules, "On which weekday at which hour?")
    assert list(table) == ["Weekday", *HOURS]
    assert table["Weekday"] == ["0", "1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("title", "columns"),
    [
        (
            "Which connectors lost the most calls to deadlines?",
            ["Connector", "Calls", "Deadlines", "Share", "Limit"],
        ),
        (
            "How many answers came after we had given up, and how late?",
            [
                "Connector", "Deadlines", "Late answers", "Answered late", "Half were late by", "Nine in ten by",
                "Limit now",
            ],
        ),
        (
            "In which phase did the time run out, and whose limit was it?",
            ["Connector", "Phase", "Whose limit", "Deadlines"],
        ),
    ],
)  # fmt: skip
def test_several_queries_become_one_table_with_titles_in_order(
    month: Month, modules: Path, title: str, columns: list[str]
) -> None:
    table = shown(month, modules, title)
    assert list(table) == columns
    assert len(table["Connector"]) == len({tuple(row) for row in zip(*table.values(), strict=True)})
