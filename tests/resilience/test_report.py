"""The recording fake and the real hooks take the same words, and the real ones hear the whole story."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from otel_mcp import hooks
from otel_mcp.resilience import _report

from .recorder import Recorder
from .server import SERVERS


@pytest.mark.promise("one-record-a-call")
@pytest.mark.parametrize("name", [name for name in vars(_report.Sink) if not name.startswith("_")])
def test_the_hooks_and_the_recorder_take_what_this_layer_says(name: str) -> None:
    said = inspect.signature(getattr(_report.Sink, name)).parameters.keys() - {"self"}

    assert said <= inspect.signature(getattr(hooks, name)).parameters.keys()
    recorded = inspect.signature(getattr(Recorder, name)).parameters
    assert said <= recorded.keys() or any(p.kind is p.VAR_KEYWORD for p in recorded.values())


@pytest.mark.promise("one-record-a-call")
@pytest.mark.parametrize(("ours", "theirs"), [(_report.Call, hooks.Call), (_report.Breaker, hooks.Breaker)])
def test_a_call_and_a_breaker_of_the_hooks_have_what_this_layer_uses(ours: type, theirs: type) -> None:
    for name, method in vars(ours).items():
        if not name.startswith("_"):
            said = inspect.signature(method).parameters.keys()
            assert said <= inspect.signature(getattr(theirs, name)).parameters.keys(), name


WATCHED = """
import sys
import anyio, otel_mcp
from mcp import StdioServerParameters
from otel_mcp.resilience import CircuitBreaker, Connector, ReconnectPolicy, RetryPolicy

async def main():
    server = StdioServerParameters(command=sys.executable, args=[sys.argv[1], "--parallel"])
    async with Connector(
        "files", server, deadline=20, policy=RetryPolicy(base=0.01, quiet_time=0.01),
        breaker=CircuitBreaker("files", threshold=2), reconnect=ReconnectPolicy(base=0.01), keepalive_interval=None,
    ) as files:
        await files.list_tools()
        await files.call_tool("echo")
        await files.call_tool("refuse")
        await files.call_tool("die")
        await files.wait_ready(60)
        await files.call_tool("hang", deadline=0.5)
        await files.call_tool("die", idempotent=True)
        await files.call_tool("echo")

otel_mcp.instrument()
anyio.run(main)
"""


@pytest.mark.promise("one-record-a-call", "strike-mix-visible")
def test_a_watched_process_has_one_line_a_call_with_bucket_attempts_and_breaker(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    environment = {**os.environ, "OTEL_MCP_CALL_LOG": str(log), "OTEL_METRICS_EXPORTER": "none"}
    subprocess.run(
        [sys.executable, "-c", WATCHED, str(SERVERS / "resilience_stdio.py")],
        env=environment,
        capture_output=True,
        timeout=120,
        check=True,
    )
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    calls = [
        tuple(line[key] for key in ("tool", "outcome", "bucket", "attempts", "breaker", "sent", "limit_source"))
        for line in lines
        if line["event"] == "call"
    ]
    breaker = [
        (line["from"], line["to"], line["cause"], line["strikes"]) for line in lines if line["event"] == "breaker"
    ]

    assert calls == [
        ("echo", "ok", "ok", 1, "closed", True, "guard"),
        ("refuse", "tool_error", "error", 1, "closed", True, "guard"),
        ("die", "disconnected", "error", 1, "closed", True, "guard"),
        ("hang", "deadline", "deadline", 1, "closed", True, "guard"),
        ("die", "rejected", "error", 0, "open", False, "guard"),
        ("echo", "rejected", "error", 0, "open", False, "guard"),
    ]
    assert breaker == [("closed", "open", "deadline", {"deadline": 1, "transport": 1})]
    assert {line["transport"] for line in lines if line["event"] == "connect"} == {"stdio"}
    assert {line["reason"] for line in lines if line["event"] == "connect"} >= {"initial", "transport"}
