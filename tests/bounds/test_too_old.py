"""Below what we work with: the program runs as it does without us, and one line says what is the matter."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.servers import Fault, Servers

PROGRAM = Path(__file__).parents[1] / "unchanged" / "program.py"
NO_OPENTELEMETRY = (
    "otel_mcp: no spans, metrics and log records: OpenTelemetry is missing or too old here (No module named"
)
CASES = {
    "MCP": "otel_mcp: mcp 1.10.1 is not one that is tested with (1.19 to 2.x)",
    "OPENTELEMETRY": f"{NO_OPENTELEMETRY} 'opentelemetry._logs')",
    "NONE": f"{NO_OPENTELEMETRY} 'opentelemetry')",
}


@pytest.mark.parametrize("what", CASES)
def test_the_program_prints_what_it_prints_without_us_one_line_says_why_and_the_call_log_is_written(
    what: str, servers: Servers, tmp_path: Path
) -> None:
    python = os.environ[f"TOO_OLD_{what}"]
    stdio, good, bad = servers.stdio(), servers.http(), servers.http(Fault("status", 503, tool="progress"))
    config = tmp_path / "config.json"
    target = stdio.target
    config.write_text(
        json.dumps({"command": target.command, "args": target.args, "env": target.env,
                    "url": good.target, "bad_url": bad.target})
    )  # fmt: skip
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    ours = {"OTEL_MCP_ENABLED": "true", "OTEL_EXPORTER_PROMETHEUS_PORT": "0",
            "OTEL_MCP_CALL_LOG": str(tmp_path / "calls.jsonl")}  # fmt: skip
    plain, watched = (
        subprocess.Popen(
            [python, str(PROGRAM), str(config)], env={**clean, **variables, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for variables in ({}, ours)
    )  # fmt: skip
    out, err = plain.communicate(timeout=LONG_ENOUGH)
    watched_out, watched_err = watched.communicate(timeout=LONG_ENOUGH)
    assert out.endswith("end\n"), err
    assert watched_out == out, watched_err
    [line] = [line for line in watched_err.splitlines() if line not in err.splitlines()]
    assert line.startswith(CASES[what])
    assert len(events(read_jsonl(tmp_path / "calls.jsonl"), "call")) == 35
