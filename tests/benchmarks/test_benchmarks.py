"""Every benchmark runs from end to end, and the page names commands that there are. No figure is looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.children import LONG_ENOUGH
from harness.package import environment, path_entry

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
NAMES = ("cost", "records", "collectors", "scrape", "memory", "startup", "growth")
ALL = (NAMES[0], "instructions", *NAMES[1:])
"""One needs valgrind, which slows each call down fifty times."""
FOUND = str(ROOT / "tests")


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = ":".join([FOUND, *path_entry().values()])
    return subprocess.run(
        [sys.executable, str(BENCHMARKS), "--quick", "--here", *arguments],
        capture_output=True, text=True, timeout=LONG_ENOUGH, check=False,
        stdin=subprocess.DEVNULL, env=environment(PYTHONPATH=path, **variables),
    )  # fmt: skip


def cells(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| --- ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_prints_its_tables_and_the_command_that_prints_them_again(name: str) -> None:
    done = run(name)
    assert done.returncode == 0, done.stderr
    assert f"make bench ONLY={name}\n" in done.stdout
    rows = cells(done.stdout)
    assert len(rows) > 2
    assert sum(bool(re.search(r"\d", cell)) for row in rows for cell in row) > 4


def test_instructions_are_not_counted_where_nothing_can_count_them(tmp_path: Path) -> None:
    done = run("instructions", PATH=str(tmp_path))
    assert (done.returncode, done.stdout.rstrip().splitlines()[-1]) == (0, "Not measured: valgrind is not installed.")


def test_a_wrong_name_is_told_with_those_that_there_are() -> None:
    done = run("speed")
    assert done.returncode == 2
    assert done.stderr == f"no benchmark is called speed; there are {', '.join(ALL)}\n"


def test_the_page_has_every_benchmark_with_a_command_that_exists() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^make bench ONLY=(\w+)", page, re.MULTILINE)) == ALL
    assert re.search(r"^bench:.*\n\t.*benchmarks \$\(ONLY\)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "mcp 1.30" in page
    assert "mcp 2.3" in page
