from __future__ import annotations

import io
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


@pytest.mark.parametrize(("width", "column"), [(120, "12"), (60, "12"), (40, "12")])
def test_the_map_has_the_share_in_the_hours_column_at_any_width(tmp_path: Path, width: int, column: str) -> None:
    report = report_of(tmp_path, [cut(NOON), call(NOON), call(NOON), call(NOON.replace(hour=3))])
    lines = shown(report, width).splitlines()
    head = next(line for line in lines if " 00" in line)
    row = next(line for line in lines if line.startswith("odoo"))
    assert row[: head.index(column) + 2].endswith("33")
    assert all(len(line) <= width for line in lines)


def test_a_hostile_name_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    name = "[red]x[/red]\x1b[31m\u202eevil"
    text = shown(report_of(tmp_path, [call(connector=name)]), force_terminal=True)
    assert "[red]x[/red]" in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_simulated_data_is_called_that(tmp_path: Path) -> None:
    assert "SIMULATED DATA" in shown(report_of(tmp_path, [{**call(), "simulated": True}]))
