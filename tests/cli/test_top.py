"""`otel-mcp top`: what it says is open, and where it looks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.real_parts import free_port
from otel_mcp._cli.main import main

ENDED = 2**22 + 1
"""The number of no process: Linux gives none above 2 ** 22."""


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


def test_what_the_variable_leaves_open_is_every_process_and_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    template = str(tmp_path / "calls-{pid}-{date}.jsonl")
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", template)
    assert main(["top", "--once"]) == 2
    assert capsys.readouterr().err == (
        f"otel-mcp top: the call log {template} cannot be read (No such file or directory)\n"
    )
    write(tmp_path / "calls-41-2026-11-29.jsonl", waiting(40.0), waiting(39.0, id=2))
    write(tmp_path / "calls-41-2026-11-30.jsonl", {**waiting(0.0, id=2), "event": "call"})
    write(tmp_path / "calls-42-2026-11-30.jsonl", waiting(30.0, instance="77ab", connector="mail"))
    write(tmp_path / "calls-41-2026-11-29.jsonl.1", waiting(50.0, id=3))
    assert main(["top", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["source"] == template
    assert [(row["connector"], row["id"]) for row in told["open"]] == [("crm", 1), ("mail", 1)]


@pytest.mark.parametrize(
    ("age", "ago", "fields", "note"),
    [
        (40.0, 30.0, {}, "-"),
        (40.0, 50.0, {}, "not heard of since"),
        (5.0, 20.0, {"retired": True}, "retired session"),
        (5.0, 40.0, {"retired": True}, "retired session; not heard of since"),
        (40.0, 30.0, {"pid": ENDED}, f"no process {ENDED} here"),
        (40.0, 50.0, {"pid": ENDED}, f"no process {ENDED} here; not heard of since"),
        (40.0, 30.0, {"pid": 2**70}, "-"),
    ],
)
def test_a_call_whose_process_is_gone_or_says_no_more_is_not_shown_as_one_that_waits(
    tmp_path: Path, age: float, ago: float, fields: dict[str, Any], note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = waiting(age, ago, **fields)
    file = write(tmp_path / "calls.jsonl", line)
    assert main(["top", str(file), "--once"]) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    told, _, since = re.split("  +", row)[-1].partition(" since ")
    silent = "not heard of" in note
    assert head == f"{file}: 1 call {'not heard of' if silent else 'open'}"
    assert told == note.removesuffix(" since")
    moment = datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
    assert since in (f"{moment:%H:%M} UTC", f"{moment:%Y-%m-%d %H:%M} UTC") if silent else since == ""
    assert main(["top", str(file), "--json"]) == 0
    told_as_json = json.loads(capsys.readouterr().out)
    assert (told_as_json["silent"], told_as_json["open"][0]["silent"]) == (int(silent), silent)


def test_a_named_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["top", str(pipe), "--once"]) == 2
    assert capsys.readouterr().err == f"otel-mcp top: {pipe} is no regular file; name a call log\n"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/metrics":
            self.send_error(404, "Only /metrics is here\x1b[2J")
            return
        body: bytes = self.server.page  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@contextlib.contextmanager
def serving(*samples: tuple[str, dict[str, str], float]) -> Iterator[str]:
    """`host:port` of an endpoint with these samples; names without `otel_mcp_client_`, the connector is crm."""
    lines = []
    for name, labels, value in samples:
        pairs = ",".join(f'{key}="{text}"' for key, text in {"otel_mcp_connector": "crm", **labels}.items())
        lines.append(f"otel_mcp_client_{name}{{{pairs}}} {value}\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    server.page = "".join(lines).encode()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def in_phase(phase: str, age: float) -> tuple[str, dict[str, str], float]:
    return ("call_oldest_age_seconds", {"otel_mcp_phase": phase}, age)


def requested(method: str, age: float, count: int) -> list[tuple[str, dict[str, str], float]]:
    labels = {"mcp_method_name": method}
    return [("request_oldest_age_seconds", labels, age), ("request_active", labels, count)]


@pytest.mark.parametrize(
    ("samples", "head", "rows"),
    [
        ([in_phase("wait", 9), *requested("tools/call", 9, 1)], "1 call open", ["call wait"]),
        ([in_phase("wait", 9), *requested("tools/call", 9, 2), *requested("prompts/get", 8, 1)], "3 calls open",
         ["3 x call wait"]),
        ([in_phase("wait", 9), in_phase("lock", 8), ("lock_waiting", {}, 4), *requested("tools/call", 9, 1)],
         "5 calls open", ["call wait", "4 x call lock"]),
        ([in_phase("wait", 9), in_phase("write", 8), *requested("tools/call", 9, 3)], "3 calls open",
         ["call wait", "call write"]),
        ([in_phase("backoff", 9)], "at least 1 call open", ["call backoff"]),
        ([in_phase("validate", 9), *requested("tools/list", 5, 1)], "at least 1 call open", ["call validate"]),
        ([in_phase("validate", 9), *requested("tools/list", 12, 2)], "at least 1 call open, 2 requests of no call open",
         ["2 x tools/list -", "call validate"]),
        (requested("initialize", 9, 1), "1 request of no call open", ["initialize -"]),
        ([in_phase("wait", 0), *requested("tools/call", 0, 0)], "nothing is open", []),
    ],
)  # fmt: skip
def test_an_endpoint_tells_how_many_calls_are_open_and_each_of_them_once(
    samples: list[tuple[str, dict[str, str], float]], head: str, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*samples) as address:
        assert main(["top", address, "--once"]) == 0
    first, *table = capsys.readouterr().out.splitlines()
    assert first == f"http://{address}/metrics: {head}"
    assert [" ".join(re.split("  +", line)[2:4]) for line in table[1:]] == rows


def test_an_endpoint_that_answers_with_an_error_is_told_by_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as address:
        assert main(["top", f"http://{address}/foo", "--once"]) == 2
    assert (
        capsys.readouterr().err == f"otel-mcp top: http://{address}/foo answers 404: Only /metrics is here\\u001b[2J\n"
    )


def test_a_log_tells_how_many_calls_and_other_requests_are_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(
        tmp_path / "calls.jsonl", waiting(40.0), waiting(30.0, id=2),
        waiting(35.0, id=None, method="ping", tool=None, generation=1),
    )  # fmt: skip
    assert main(["top", str(file), "--once"]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: 2 calls open, 1 request of no call open\n")
    assert main(["top", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["calls"], told["requests"], len(told["open"])) == (2, 1, 3)


def entry(folder: Path, address: str, pid: int, host: str = "") -> None:
    """As a watched process writes its own."""
    name = f"otel-mcp-{host or socket.gethostname()}-{pid}.json"
    (folder / name).write_text(json.dumps([{"targets": [address], "labels": {"service": "agent"}}]))


def test_without_a_name_the_endpoints_of_the_running_programs_are_shown_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_MCP_TARGETS", str(tmp_path))
    state = ("connector_state", {"otel_mcp_state": "failed"}, 1.0)
    with (
        serving(in_phase("wait", 9), *requested("tools/call", 9, 1), ("call_overdue", {}, 1)) as one,
        serving(in_phase("lock", 5), ("lock_waiting", {}, 2), state) as two,
    ):
        entry(tmp_path, one, os.getpid())
        entry(tmp_path, f"127.0.0.1:{free_port()}", ENDED)
        entry(tmp_path, f"127.0.0.1:{free_port()}", 1, host="elsewhere")
        (tmp_path / "otel-mcp-foreign-1.json").write_text('{"targets": 5}')
        assert main(["top", "--once"]) == 0
        assert capsys.readouterr().out.startswith(f"http://{one}/metrics: 1 call open\n")
        entry(tmp_path, two, os.getppid())
        assert main(["top", "--once"]) == 0
    head, _, *rows, tail = capsys.readouterr().out.splitlines()
    assert head == f"2 endpoints in {tmp_path}: 3 calls open"
    assert [re.split("  +", row)[-1] for row in rows] == [f"{one}; overdue", two]
    assert tail == f"not ready: crm on {two} failed"


def test_an_entry_that_does_not_answer_is_told_and_keeps_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_MCP_TARGETS", str(tmp_path))
    silent = f"127.0.0.1:{free_port()}"
    entry(tmp_path, silent, os.getppid())
    assert main(["top", "--once"]) == 2
    assert capsys.readouterr().err.startswith(f"otel-mcp top: http://{silent}/metrics does not answer")
    with serving(in_phase("wait", 9), *requested("tools/call", 9, 1)) as one:
        entry(tmp_path, one, os.getpid())
        assert main(["top", "--once"]) == 0
    assert capsys.readouterr().out.startswith(f"1 of 2 endpoints in {tmp_path}: 1 call open\n")


def test_without_targets_the_endpoint_is_where_the_variables_put_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_MCP_TARGETS", str(tmp_path))
    with serving(in_phase("wait", 9), *requested("tools/call", 9, 1)) as address:
        monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_HOST", "0.0.0.0")
        monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", address.rpartition(":")[2])
        assert main(["top", "--once"]) == 0
        assert capsys.readouterr().out.startswith(f"http://{address}/metrics: 1 call open\n")
    monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", "0")
    assert main(["top", "--once"]) == 2
    assert capsys.readouterr().err.startswith("otel-mcp top: OTEL_EXPORTER_PROMETHEUS_PORT=0 lets a program listen on")
