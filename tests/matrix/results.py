"""What came out, read from the JUnit files that pytest writes, and the summary at the end."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

TABLE_PREFIX = "table:"


@dataclass
class Result:
    """Of one environment or check. ``reason`` says why it did not run, or what broke before any test did."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    reason: str = ""
    python: str = ""
    packages: str = ""
    """What it ran with, where that is not in its name."""
    skips: set[str] = field(default_factory=set)
    tables: dict[str, dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    broken: list[str] = field(default_factory=list)
    """Node ids of what failed."""
    shaky: list[str] = field(default_factory=list)
    """Of these, what passed when it ran again by itself."""

    def settle(self, again: Result) -> None:
        """Take in a second run of what failed: a test that passes by itself was disturbed, and is named."""
        self.shaky = [node for node in self.broken if node not in again.broken]
        self.failed -= len(self.shaky)
        self.passed += len(self.shaky)
        for table, rows in again.tables.items():
            self.tables[table].update({row: held for row, held in rows.items() if held})

    @property
    def verdict(self) -> str:
        return "failed" if self.failed else "passed" if self.passed else "skipped"


def read(name: str, file: Path, exit_code: int, seconds: float) -> Result:
    """The result of one pytest run; a run that left no file, or failed without a failed test, counts as one failure."""
    result = Result(name, seconds=seconds)
    if file.exists():
        for case in ElementTree.parse(file).getroot().iter("testcase"):  # noqa: S314 - written by the pytest we ran
            _count(result, case)
    if exit_code != 0 and not result.failed:
        result.failed, result.reason = 1, f"pytest ended with exit code {exit_code}"
    return result


def _count(result: Result, case: ElementTree.Element) -> None:
    broken = case.find("failure") is not None or case.find("error") is not None
    skip = case.find("skipped")
    if broken:
        result.failed += 1
        folder, *inside = (case.get("classname") or "").split(".")
        result.broken.append(f"{'/'.join([folder, *inside])}.py::{_without_group(case.get('name') or '')}")
    elif skip is not None:
        result.skipped += 1
        result.skips.add(skip.get("message") or "no reason given")
    else:
        result.passed += 1
    for entry in case.iter("property"):
        name, row = entry.get("name") or "", entry.get("value") or ""
        if name.startswith(TABLE_PREFIX):
            rows = result.tables[name.removeprefix(TABLE_PREFIX)]
            rows[row] = rows.get(row, True) and not broken


def _without_group(name: str) -> str:
    """pytest-xdist writes ``@`` and the group behind a test's name and its parameters."""
    end = name.rfind("@")
    return name[:end] if end > name.rfind("]") else name


def summary(results: list[Result]) -> str:
    """The tables the suite promises, a line an environment, and last `N passed, N failed, N skipped`."""
    lines = [*_tables(results), "", "environments"]
    for result in results:
        counts = f"{result.passed:5} passed {result.failed:3} failed {result.skipped:3} skipped {result.seconds:6.0f} s"
        lines.append(f"  {result.name:16} {result.verdict:8}{counts}  {result.reason}".rstrip())
        lines += [f"    passed only by itself, the second time: {node}" for node in result.shaky]
        lines += [f"    skipped: {reason}" for reason in sorted(result.skips)]
    verdicts = [result.verdict for result in results]
    lines.append(", ".join(f"{verdicts.count(word)} environments {word}" for word in ("passed", "failed", "skipped")))
    total = (sum(getattr(result, word) for result in results) for word in ("passed", "failed", "skipped"))
    lines.append("{} passed, {} failed, {} skipped".format(*total))
    return "\n".join(lines)


def _tables(results: list[Result]) -> list[str]:
    lines: list[str] = []
    for table in sorted({table for result in results for table in result.tables}):
        columns = [result for result in results if table in result.tables]
        rows = sorted({row for result in columns for row in result.tables[table]})
        width = max(map(len, rows))
        lines += ["", f"{table:{width}}  " + "  ".join(result.name for result in columns)]
        for row in rows:
            cells = (_cell(result, table, row).ljust(len(result.name)) for result in columns)
            lines.append(f"{row:{width}}  " + "  ".join(cells).rstrip())
    return lines


def _cell(result: Result, table: str, row: str) -> str:
    held = result.tables[table].get(row)
    return "-" if held is None else "ok" if held else "FAILED"
