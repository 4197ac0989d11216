"""The manifest and the tests agree, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

from .promises import PROMISES


def signatures() -> set[str]:
    found = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "promise":
                found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


def test_every_promise_is_signed_by_a_test() -> None:
    assert set(PROMISES) - signatures() == set()


def test_every_signature_is_of_a_promise_that_stands_in_the_manifest() -> None:
    assert signatures() - set(PROMISES) == set()
