"""An adapter is one module and its tests: both can be deleted, and nothing else has to be touched."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from hosts.__main__ import hosts

from harness.package import environment
from otel_mcp import _hosts

PACKAGE = Path(_hosts.__path__[0]).resolve().parent
TESTS = Path(__file__).resolve().parents[1]
ADAPTERS = [path.stem for path in sorted(PACKAGE.glob("_hosts/[a-z]*.py")) if path.stem != "registry"]
PREFIX = f"{_hosts.__name__}."


def imported(file: Path) -> Iterator[str]:
    """Names of modules, and of what may be one, that a file imports from the room of the adapters."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if _hosts.__name__ in text or "_hosts" in text else ():
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.fixture(scope="module")
def importers() -> dict[str, set[Path]]:
    """Adapter to files that import it."""
    found: dict[str, set[Path]] = {adapter: set() for adapter in ADAPTERS}
    for file in [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]:
        for name in imported(file):
            if name.startswith(PREFIX) and name.removeprefix(PREFIX) in found:
                found[name.removeprefix(PREFIX)].add(file)
    return found


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_nothing_but_its_own_tests_needs_an_adapter(adapter: str, importers: dict[str, set[Path]]) -> None:
    own = set(hosts()[adapter].files)
    assert importers[adapter] <= own
    assert TESTS / "hosts" / f"test_{adapter}.py" in own


def test_a_file_that_needs_an_adapter_is_found(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("from otel_mcp._hosts import agno\nimport otel_mcp._hosts.crewai\n", encoding="utf-8")
    assert {"otel_mcp._hosts.agno", "otel_mcp._hosts.crewai"} <= set(imported(file))


def test_a_package_without_a_single_adapter_works(tmp_path: Path) -> None:
    copytree(PACKAGE, tmp_path / "otel_mcp", ignore=ignore_patterns("__pycache__"))
    for name in ADAPTERS:
        (tmp_path / "otel_mcp" / "_hosts" / f"{name}.py").unlink()
    program = (
        "import otel_mcp, mcp; otel_mcp.instrument(); from otel_mcp._hosts import registry;"
        " print(otel_mcp.__file__, list(registry.adapters(None))); otel_mcp.uninstrument()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)),
    )  # fmt: skip
    assert (ended.stderr, ended.stdout) == ("", f"{tmp_path / 'otel_mcp' / '__init__.py'} []\n")
