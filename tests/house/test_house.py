"""The house is built as `docs/architecture.md` says."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import otel_mcp

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = Path(next(iter(otel_mcp.__path__))).resolve()
DOCS = [*sorted((PROJECT / "docs").glob("**/*.md")), *sorted(PROJECT.glob("*.md"))]

FLOORS = {
    "_version": 0, "_ground": 0,
    "_ledger": 1, "_record": 1, "_observe": 1,
    "_reports": 2, "hooks": 2, "_sdk": 2, "_hosts": 2, "resilience": 2,
    "_start": 3, "_report": 3, "testing": 3, "_instrumentor": 3, "__init__": 3,
    "_cli": 4, "_demo": 4, "_dashboards": 4, "__main__": 4,
}  # fmt: skip
"""A room may import from floors below its own, and from its own floor what `BESIDE` names."""
BESIDE = {
    "_record": {"_ledger"},
    "_observe": {"_ledger", "_record"},
    "hooks": {"_reports"},
    "_hosts": {"hooks", "_reports"},
    "resilience": {"hooks", "_reports"},
    "testing": {"_start"},
    "__init__": {"_instrumentor", "_start"},
    "_instrumentor": {"_start"},
    "__main__": {"_cli"},
    "_cli": {"_demo", "_dashboards"},
    "_demo": {"_cli"},
}
APART = {("_sdk", "resilience"), ("resilience", "_sdk")}
LONGEST = 320
"""Lines of a module: about three hundred, with room for a docstring."""


def modules() -> list[Path]:
    return sorted(PACKAGE.glob("**/*.py"))


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    """Rooms of ours that a module imports, wherever in it, with the line; not what is only for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != "otel_mcp" else [f"otel_mcp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name == "otel_mcp" or name.startswith("otel_mcp."):
                yield name.removeprefix("otel_mcp").removeprefix(".").split(".")[0] or "__init__", node.lineno


def allowed(mine: str, other: str) -> bool:
    if other == mine:
        return True
    if (mine, other) in APART:
        return False
    return FLOORS[other] < FLOORS[mine] or other in BESIDE.get(mine, ())


def test_every_room_has_its_floor() -> None:
    assert {room(path) for path in modules()} - FLOORS.keys() == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_floors_below_its_own(path: Path) -> None:
    mine = room(path)
    wrong = [f"line {line}: {other}" for other, line in imported_rooms(path) if not allowed(mine, other)]
    assert wrong == []


def test_the_rule_above_would_see_an_import_from_above(tmp_path: Path) -> None:
    assert not allowed("_ground", "_ledger")
    assert not allowed("_sdk", "resilience")
    assert not allowed("_ledger", "_record")
    assert allowed("_sdk", "_observe")
    file = tmp_path / "module.py"
    file.write_text("def late():\n    from otel_mcp._start import runtime\n    from otel_mcp import hooks\n")
    assert list(imported_rooms(file)) == [("_start", 2), ("hooks", 3)]


def test_the_rooms_of_the_architecture_page_are_those_of_the_package() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = {name.removesuffix(".py") for name in re.findall(r"`otel_mcp/(\w+(?:\.py)?)`", page)}
    rooms = {room(path) for path in modules()} - {"__init__", "__main__", "_version", "_instrumentor"}
    assert rooms - told == set(), "rooms that the page does not name"
    assert told - {room(path) for path in modules()} == set(), "rooms that are not there"


def test_no_module_is_longer_than_a_reader_takes_in() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
    assert sorted(lengths.values())[len(lengths) // 2] < 200


def public_modules() -> list[str]:
    found = [module.name for module in pkgutil.iter_modules(otel_mcp.__path__) if not module.name.startswith("_")]
    return ["otel_mcp", *(f"otel_mcp.{name}" for name in found)]


@pytest.mark.parametrize("name", public_modules())
def test_a_public_modules_list_of_names_is_sorted_and_true(name: str) -> None:
    module = importlib.import_module(name)
    listed = list(module.__all__)
    assert listed == sorted(listed)
    assert [each for each in listed if not hasattr(module, each)] == []
    for each in listed:
        assert each == "__version__" or getattr(module, each).__doc__, f"{name}.{each} has no docstring"


def test_what_is_defined_in_a_public_module_and_not_underscored_is_listed() -> None:
    for name in public_modules():
        module = importlib.import_module(name)
        own = {
            each
            for each, value in vars(module).items()
            if not each.startswith("_") and getattr(value, "__module__", None) == name and callable(value)
        }
        assert own - set(module.__all__) == set()


LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)")
FILE = re.compile(
    r"`((?:otel_mcp|tests|docs|dashboards|examples|benchmarks|\.ci)/[\w./-]+"
    r"|[A-Z]{4,}\.md|Makefile|pyproject\.toml|docker-compose\.yml)`"
)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_a_page_names_no_file_that_is_not_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing += [file for file in FILE.findall(text) if not (PROJECT / file).exists()]
    assert missing == []


def test_where_workers_share_the_suite_a_file_is_one_workers(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ or "@" in request.node.nodeid:
        return
    why = "--dist loadgroup is not given"
    if request.config.getoption("loadgroup"):
        xdist = importlib.metadata.version("pytest-xdist")
        why = f"pytest {pytest.__version__} does not read the groups of pytest-xdist {xdist}; install 'pytest<9.2'"
    pytest.fail(f"each test of a file makes anew what they share: {why}", pytrace=False)


def test_nothing_in_the_package_prints_but_the_roof() -> None:
    printing = {
        room(path)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing <= {"_cli", "_dashboards", "_demo", "_report", "_start"}
