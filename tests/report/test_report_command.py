"""The command as a process for what only a process shows; the rest by what its `main` returns and prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from report.report_logs import NOON, call, cut, event, spread, write

from harness.package import path_entry
from otel_mcp._cli.main import main

FINDING = [
    "kind", "connector", "tool", "hour", "weekday", "calls", "deadlines", "share", "lift", "p_adjusted", "sentence",
    "next_step",
]  # fmt: skip


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "otel_mcp", "report", *map(str, arguments)],
        cwd=tempfile.gettempdir(), capture_output=True, text=True, timeout=120,
        env={"PATH": "/usr/bin", "COLUMNS": "160", **path_entry()},
    )  # fmt: skip


Report = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Report:
    """The same without a process, which would load scipy and DuckDB anew each time."""
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = ["report", *map(str, arguments)]
        code = main(words)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    cuts = [cut(NOON + timedelta(days=day, minutes=m)) for day in range(12) for m in (5, 25)]
    return write(tmp_path / "calls.jsonl", [*spread(12), *cuts, "torn"])


def test_json_is_the_document_of_the_contract(log: Path, report: Report) -> None:
    done = report(log, "--json", "--tz", "Europe/Berlin")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(document) == [
        "schema", "calls", "skipped_lines", "since", "until", "tz", "connectors", "cells", "findings",
    ]  # fmt: skip
    assert (document["schema"], document["calls"], document["skipped_lines"]) == (1, 600, 1)
    assert document["tz"] == "Europe/Berlin"
    assert document["since"] == "2026-11-02T00:01:00.500Z"
    assert {"connector": "odoo", "hour": 13, "calls": 48, "deadlines": 24, "share": 0.5} in document["cells"]
    assert len(document["cells"]) == 24
    assert document["connectors"] == [{"connector": "odoo", "calls": 600, "deadlines": 24, "share": 0.04}]
    assert [list(finding) for finding in document["findings"]] == [FINDING]
    assert document["findings"][0]["hour"] == 13


def test_the_terminal_says_the_finding_before_the_map(log: Path) -> None:
    done = process(log)
    assert done.returncode == 0
    assert done.stdout.index("odoo runs out of time between 12:00 and 13:00") < done.stdout.index(
        "by connector and hour"
    )
    assert "1 line skipped" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("arguments", "code"), [(["--fail-on", "deadlines=2%"], 1), (["--tz", "Berlin"], 2)])
def test_what_main_returns_is_the_exit_code_of_the_process(
    log: Path, arguments: list[str], code: int, report: Report
) -> None:
    done, same = process(log, "--json", *arguments), report(log, "--json", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (code, same.stdout, same.stderr)
    assert same.returncode == code


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("deadlines=2%", 1),
        ("deadlines=4%", 1),
        ("deadlines=4.1%", 0),
        ("deadlines=24", 1),
        ("deadlines=25", 0),
        ("connector_deadlines=4%", 1),
        ("connector_deadlines=5%", 0),
        ("skipped_lines=0", 1),
        ("skipped_lines=1", 0),
        ("findings", 1),
        ("hour", 1),
        ("lock,never_ended", 0),
        ("lock, hour", 1),
    ],
)
def test_fail_on_ends_with_1_where_it_holds(log: Path, condition: str, code: int, report: Report) -> None:
    done = report(log, "--json", "--fail-on", condition)
    assert done.returncode == code
    assert ("holds" in done.stderr) == bool(code)
    assert json.loads(done.stdout)["calls"] == 600


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fail-on", "deadline=2%"], "otel-mcp report: --fail-on 'deadline=2%' is no condition; use deadlines=2%"),
        (["--fail-on", ""], "--fail-on '' is no condition"),
        (["--tz", "Berlin"], "--tz 'Berlin' is no time zone known here"),
        (["--since", "soon"], "--since 'soon' is no moment"),
        (["--since", "2026-11-05", "--until", "2026-11-04"], "--since 2026-11-05 is not before --until 2026-11-04"),
        (
            ["--html", "/nowhere/report.html"],
            "--html /nowhere/report.html cannot be written: no such file or directory",
        ),
        (["--html", f"{__file__}/x.html"], f"--html {__file__}/x.html cannot be written: not a directory"),
        (["--html", "."], "--html . is a folder; name a file in it, for example report.html"),
        (["--html", "/"], "--html / is a folder; name a file in it, for example /report.html"),
        (["--html", ""], "--html '' names no file"),
    ],
)
def test_bad_options_are_one_sentence_and_2(log: Path, arguments: list[str], sentence: str, report: Report) -> None:
    done = report(log, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_page_never_takes_the_place_of_a_log_that_it_is_about(log: Path, report: Report) -> None:
    before = log.read_bytes()
    done = report(f"{log.parent}/*.jsonl", "--html", log)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"otel-mcp report: --html {log} is a call log that is to be read")
    assert log.read_bytes() == before


def test_nothing_to_read_is_one_sentence_and_2_and_leaves_no_page(tmp_path: Path, report: Report) -> None:
    page = tmp_path / "report.html"
    done = report(tmp_path / "gone.jsonl", "--html", page)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"otel-mcp report: {tmp_path}/gone.jsonl: no such file\n"
    assert list(tmp_path.iterdir()) == []


def test_without_files_the_variable_is_read(log: Path, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", str(log))
    done = report("--json")
    assert json.loads(done.stdout)["calls"] == 600


def test_a_page_takes_the_place_of_the_terminal(log: Path, tmp_path: Path, report: Report) -> None:
    page = tmp_path / "report.html"
    done = report(log, "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert not page.with_name("report.html.part").exists()


@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "text"])
@pytest.mark.parametrize(("condition", "code"), [("hour", 1), ("lock", 0)])
def test_a_reader_that_goes_away_is_no_fault_and_changes_no_verdict(
    log: Path, monkeypatch: pytest.MonkeyPatch, form: list[str], condition: str, code: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stdout:  # noqa: PTH123 - a descriptor has no path
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["report", str(log), *form, "--fail-on", condition]) == code


def test_a_log_without_calls_is_said_to_be_one(tmp_path: Path, report: Report) -> None:
    log = write(tmp_path / "calls.jsonl", [event("connect", reason="initial", outcome="ok", elapsed=0.1)])
    done = report(log)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 calls" in done.stdout


def test_one_call_is_enough_for_a_report(tmp_path: Path, report: Report) -> None:
    assert "1 call, 0 deadlines (0 %)" in report(write(tmp_path / "calls.jsonl", [call()])).stdout
