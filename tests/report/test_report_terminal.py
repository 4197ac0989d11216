from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from report.report_logs import NOON, call, cut, report_of
from rich.console import Console

from otel_mcp._report import terminal
from otel_mcp._report.model import Report


def shown(report: Report, width: int = 120, **options: object) -> str:
    out = io.StringIO()
    terminal.show(report, Console(file=out, width=width, highlight=False, **options))  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize(
    ("width", "column", "shared"),
    [(120, "12", ""), (80, "12", "; two hours a column"), (60, "12", "; two hours a column"), (40, "12", "; four")],
)
def test_the_map_has_the_share_in_the_hours_column_at_any_width_and_says_how_many_hours_that_is(
    tmp_path: Path, width: int, column: str, shared: str
) -> None:
    report = report_of(tmp_path, [cut(NOON), call(NOON), call(NOON), call(NOON.replace(hour=3))])
    lines = shown(report, width).splitlines()
    head = next(line for line in lines if " 00" in line)
    row = next(line for line in lines if line.startswith("odoo"))
    assert row[: head.index(column) + 2].endswith("33")
    assert all(len(line) <= width for line in lines)
    said = re.search(r"hour of the day \(UTC(.*?)\); numbers", " ".join(" ".join(lines).split()))
    assert said is not None
    assert said[1].startswith(shared)
    assert bool(said[1]) == bool(shared)


def test_a_hostile_name_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    name = "[red]x[/red]\x1b[31m\u202eevil"
    text = shown(report_of(tmp_path, [call(connector=name)]), force_terminal=True)
    assert "[red]x[/red]" in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_simulated_data_is_called_that(tmp_path: Path) -> None:
    assert "SIMULATED DATA" in shown(report_of(tmp_path, [{**call(), "simulated": True}]))
