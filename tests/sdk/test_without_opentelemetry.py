"""A program whose environment has no OpenTelemetry at all is watched as far as that goes: its call log is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.children import events, read_jsonl, run_script
from harness.servers import Servers
from harness.sessions import MAJOR

PROGRAM = """
import json, sys
sys.modules["opentelemetry"] = None
from otel_mcp._start import autostart
autostart.arm_if_enabled()

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with stdio_client(StdioServerParameters(**json.loads(sys.argv[1]))) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            print((await session.call_tool("echo", {"text": "hello"})).content[0].text)

anyio.run(main)
"""


@pytest.mark.skipif(MAJOR == 2, reason="mcp 2.x does not start without OpenTelemetry, and brings it")
def test_without_opentelemetry_a_line_says_so_and_every_call_is_in_the_log(servers: Servers, tmp_path: Path) -> None:
    target = servers.stdio().target
    log = tmp_path / "calls.jsonl"
    parameters = json.dumps({"command": target.command, "args": target.args, "env": target.env})
    ended = run_script(PROGRAM, parameters, env={"OTEL_MCP_ENABLED": "true", "OTEL_MCP_CALL_LOG": str(log)})
    assert (ended.returncode, ended.stdout) == (0, "hello\n")
    [line] = ended.stderr.splitlines()
    assert line.startswith("otel_mcp: no spans, metrics and log records: OpenTelemetry is missing or too old here")
    assert [call["outcome"] for call in events(read_jsonl(log), "call")] == ["ok"]
