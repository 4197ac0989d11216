"""Every claim of SECURITY.md names the test that holds it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def claims() -> list[tuple[str, str]]:
    """Claim and the cell of its tests, of each table with a column `held by`."""
    found = []
    for table in re.findall(r"^\| claim \| held by \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE):
        found += [tuple(cell.strip() for cell in line.strip("|").split(" | ", 1)) for line in table.splitlines()]
    return [(claim, tests) for claim, tests in found]


@pytest.mark.parametrize(("claim", "tests"), claims())
def test_a_claim_names_a_test_and_the_test_is_there(claim: str, tests: str) -> None:
    named = NAMED.findall(tests)
    assert named, f"no test for: {claim}"
    for file, test in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        assert test in functions, f"{file} has no {test}"


def test_there_are_claims_on_every_subject() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    sections = dict(zip(headings, re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:], strict=True))
    without = {heading for heading, text in sections.items() if "| claim | held by |" not in text}
    assert without == {"Report a vulnerability", "What stays with you"}
