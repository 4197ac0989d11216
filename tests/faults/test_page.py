"""The page says what the tests hold."""

from __future__ import annotations

import ast
from pathlib import Path

from faults.page import BEGIN, END, PAGE, promised
from faults.rows import ROWS


def marked() -> set[str]:
    """The rows that tests name in their markers."""
    return {
        ast.literal_eval(node.args[0])
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault"
    }


def test_every_row_has_a_test_and_every_test_of_a_fault_a_row() -> None:
    assert marked() == set(ROWS)


def test_the_pages_table_has_every_row_with_what_its_test_allows_and_no_other() -> None:
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    assert [(*row[:3], *row[4:]) for row in rows[2:]] == [promised(row) for row in ROWS.values()]
