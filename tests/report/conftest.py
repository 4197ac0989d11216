"""The report needs its extra. Without it its tests are skipped aloud; with CI=true that is a failure."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

MISSING = [name for name in ("duckdb", "jinja2", "numpy", "rich", "scipy") if find_spec(name) is None]
WITHOUT = {"test_report_extra.py"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not MISSING or collection_path.suffix != ".py" or collection_path.name in WITHOUT:
        return None
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"the tests of the report need {', '.join(MISSING)}: pip install -e '.[report]'")
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.section("tests/report SKIPPED")
        terminalreporter.write_line(f"not installed: {', '.join(MISSING)}; pip install -e '.[report]'")
