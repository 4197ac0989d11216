"""The demo's agent works without us: it is the unchanged program that the demo watches."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from harness.children import run_script
from harness.servers import Fault, Servers
from otel_mcp._demo import agent


def test_the_agent_imports_nothing_of_ours_or_of_opentelemetry() -> None:
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(Path(agent.__file__).read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not imported & {"otel_mcp", "opentelemetry"}


def test_the_agent_runs_plain_and_goes_on_after_every_fault(servers: Servers, tmp_path: Path) -> None:
    dying, hanging = servers.stdio(Fault("exit", 3, after=2)), servers.http()
    jobs = {"tool": "echo", "arguments": {}, "every": 0.05, "limit": 5.0}
    config = {
        "mcpServers": {
            "dying": {
                "command": dying.target.command,
                "args": dying.target.args,
                "env": dying.target.env,
                "jobs": [jobs],
            },
            "hanging": {"url": hanging.target, "jobs": [{**jobs, "tool": "hang", "limit": 0.5}]},
        }
    }
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(config))
    answer = run_script(Path(agent.__file__), str(file), "--seconds", "6")
    assert (answer.returncode, "Traceback" in answer.stderr) == (0, False)
    assert dying.counts()["spawns"] > 1
    assert hanging.counts()["tools"]["hang"]["asked"] > 1
    assert {line.partition(":")[0] for line in answer.stdout.splitlines()} == {"dying", "hanging"}
