"""`otel-mcp top`: what it says is open, and where it looks."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from otel_mcp._cli.main import main


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of OpenTelemetry's or ours."""
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


def told(moment: float) -> str:
    text = datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def waiting(age: float, ago: float = 0.0, **fields: Any) -> dict[str, Any]:
    """A line that was written `ago` seconds before now on a call that was `age` seconds old then."""
    return {
        "schema": 1, "event": "still_waiting", "time": told(time.time() - ago), "instance": "3f9a", "pid": os.getpid(),
        "connector": "crm", "id": 1, "method": "tools/call", "tool": "search", "phase": "wait", "age": age, **fields,
    }  # fmt: skip


def write(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_a_file_without_a_line_of_a_call_log_is_none_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    for text, lines in (("to do\n\nsoon\n", 3), ("to do", 1), ('{"event": "call"}\n', 1), ('{"time": "soon"}\n', 1)):
        file.write_text(text)
        for words in (["--once"], ["--json"]):
            assert main(["top", str(file), *words]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith(f"otel-mcp top: {file}: none of {lines} lines is of a call log (JSON Lines")


def test_a_log_in_which_nothing_is_written_yet_has_nothing_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "calls.jsonl")
    assert main(["top", str(file), "--once"]) == 0
    assert capsys.readouterr().out == f"{file}: nothing is open\n"


def test_a_named_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["top", str(pipe), "--once"]) == 2
    assert capsys.readouterr().err == f"otel-mcp top: {pipe} is no regular file; name a call log\n"
