# with: hermes
"""The same program without and with otel_mcp: what Hermes answers, and what it keeps, must be the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tools.mcp_tool", reason="hermes-agent is not installed; make test-hosts HOST=hermes")

from harness.children import LONG_ENOUGH, read_jsonl
from harness.package import environment, path_entry
from harness.signals import shows

PROGRAM = """
import json, logging, os, re, sys, threading, time
logging.disable(logging.CRITICAL)
from tools import interrupt, mcp_tool as hermes
from tools.registry import registry

def server(*options, **config):
    return {"command": sys.executable, "args": ["-m", "otel_mcp._demo.faulty", *options],
            "env": json.loads(os.environ["SERVER_ENV"]), **config}

told = []
def call(server, tool, **arguments):
    answer = registry.dispatch(f"mcp__{server}__{tool}", arguments)
    told.append((server, tool, re.sub(r"[0-9]+[.][0-9]s|~[0-9]+s|in process [0-9]+", "N", answer)))

def state():
    # The agent's thread is released before the loop's thread lets go of the lock.
    end = time.monotonic() + 10
    while time.monotonic() < end and any(server._rpc_lock.locked() for server in hermes._servers.values()):
        time.sleep(0.02)
    return {
        "counts": hermes._server_error_counts, "opened": sorted(hermes._server_breaker_opened_at),
        "tools": {name: [registry.get_toolset_for_tool(name), registry.get_entry(name).schema]
                  for name in sorted(registry.get_all_tool_names()) if name.startswith("mcp__")},
        "by_tool": hermes._mcp_tool_server_names, "servers": sorted(hermes._servers),
        "locked": {name: server._rpc_lock.locked() for name, server in hermes._servers.items()},
        "status": [{key: value for key, value in entry.items()} for entry in hermes.get_mcp_status()],
    }

states = []
hermes.register_mcp_servers({
    "a": server(timeout=1.5), "b": server(timeout=5), "c": server("--fault", "do=error,value=-32000,tool=echo"),
    "d": server(idle_timeout_seconds=0.5), "e": server("--exit-at-start", "3", connect_timeout=2),
})
states.append(state())
call("a", "echo", text="hello"); call("a", "structured", value=3); call("a", "nothing"); call("a", "malformed")
call("a", "read_resource", uri="demo://note"); call("a", "list_resources"); call("a", "list_prompts")
call("a", "get_prompt", name="greet"); call("a", "get_prompt")
call("a", "hang"); states.append(state())
for _ in range(4):
    call("b", "reject")
states.append(state())
call("c", "echo"); call("c", "die"); call("c", "echo"); states.append(state())
time.sleep(1.5)
call("d", "commit"); states.append(state())
thread = threading.Thread(target=call, args=("d", "hang")); thread.start(); time.sleep(0.5)
interrupt.set_interrupt(True, thread.ident); thread.join(); states.append(state())
threads = [threading.Thread(target=call, args=("d", "slow"), kwargs={"seconds": 0.1}) for _ in range(5)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
hermes.shutdown_mcp_servers()
states.append(state())
print(json.dumps({"told": told, "states": states}))
"""


def run(folder: Path, *prefix: str, **variables: str) -> dict[str, Any]:
    """What the program prints; it must say nothing else."""
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    ended = subprocess.run(
        [*prefix, sys.executable, str(program)],
        capture_output=True,
        text=True,
        env=environment(HERMES_HOME=str(folder / "home"), SERVER_ENV=json.dumps(path_entry()), **variables),
        timeout=LONG_ENOUGH,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    printed: dict[str, Any] = json.loads(ended.stdout)
    return printed


@shows("told the same")
def test_answers_breaker_and_registry_are_the_same_without_and_with_us(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    without = run(tmp_path / "without")
    watched = {"OTEL_MCP_CALL_LOG": str(log), "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}
    within = run(tmp_path / "with", sys.executable, "-m", "otel_mcp", "run", "--", **watched)
    assert len(without["told"]) > 20
    for one, other in zip(without["told"], within["told"], strict=True):
        assert one == other
    for one, other in zip(without["states"], within["states"], strict=True):
        for name in one:
            assert one[name] == other[name], name
    assert {line["connector"] for line in read_jsonl(log)} == {"a", "b", "c", "d", "e"}
    assert os.environ.get("OTEL_MCP_ENABLED") is None
