"""`otel-mcp demo --history DAYS`: a simulated call log to try the report on."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from harness.children import read_jsonl
from harness.package import environment
from otel_mcp._cli.main import main


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otel_mcp", "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)


def test_a_history_is_written_marked_as_simulated_and_reported_on_where_the_libraries_are(tmp_path: Path) -> None:
    answer = demo("--history", "2", "--folder", str(tmp_path))
    lines = read_jsonl(tmp_path / "history.jsonl")
    assert lines
    assert all(line["simulated"] is True for line in lines)
    assert answer.stdout.startswith(f"{len(lines)} lines of a simulated call log, 2 days")
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("scipy"):
        assert (answer.returncode, answer.stderr) == (0, "")
        assert "odoo" in answer.stdout
    else:
        assert answer.returncode == 2
        assert "the log is written" in answer.stderr
        assert f"pip install 'otel-mcp-client[report]', then otel-mcp report {tmp_path}" in answer.stderr


@pytest.mark.parametrize("option", ["--history", "--seconds"])
def test_a_length_that_means_nothing_is_one_sentence(option: str) -> None:
    answer = demo(option, "0")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"otel-mcp demo: {option} must be more than 0, got 0\n"


@pytest.mark.parametrize(
    ("folder", "why"), [("", "names no folder"), (__file__, "cannot be made a folder: file exists")]
)
def test_what_can_be_no_folder_is_one_sentence(folder: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--history", "1", "--folder", folder])
    assert ended.value.code == 2
    assert f"argument --folder: {folder!r} {why}" in capsys.readouterr().err
