"""A real Prometheus scrapes a watched program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.package import environment
from harness.prometheus import prometheus
from harness.real_parts import free_port
from harness.servers import Servers
from harness.waiting import wait_for
from unchanged.ways import ON, start_file

PROGRAM = """
import asyncio, json, sys
from datetime import timedelta
from importlib.metadata import version
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with stdio_client(StdioServerParameters(**json.loads(sys.argv[1]))) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await asyncio.to_thread(sys.stdin.readline)
            limit = timedelta(seconds=0.2) if version("mcp").startswith("1.") else 0.2
            try:
                await session.call_tool("hang", {}, read_timeout_seconds=limit)
            except Exception as error:
                print(type(error).__name__, flush=True)
            await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""
DEADLINES = 'otel_mcp_client_calls_total{otel_mcp_outcome="deadline"}'


@pytest.mark.prometheus
def test_increase_sees_a_connectors_first_deadline_when_a_scrape_fell_between_registration_and_it(
    tmp_path: Path, servers: Servers
) -> None:
    target = servers.stdio().target
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    port = free_port()
    process = subprocess.Popen(
        start_file([str(script), json.dumps({"command": target.command, "args": target.args, "env": target.env})]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(**ON, OTEL_EXPORTER_PROMETHEUS_PORT=str(port)),
    )
    with process, prometheus(tmp_path, scrape_ports=[port], interval="1s") as server:
        assert process.stdin is not None
        assert process.stdout is not None
        wait_for(lambda: server.value(DEADLINES) == 0, timeout=60)
        process.stdin.write("call\n")
        process.stdin.flush()
        assert process.stdout.readline() in ("McpError\n", "MCPError\n")
        wait_for(lambda: server.value(DEADLINES) == 1, timeout=60)
        increase = server.value(f"increase({DEADLINES}[1m])")
        process.stdin.close()
    assert process.returncode == 0
    assert increase is not None
    assert increase > 0
