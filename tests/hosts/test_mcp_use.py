# requires: mcp-use==1.7.1
# requires: mcp==1.30.0
# python: 3.12
"""mcp-use has no adapter: its sessions are the SDK's, and it tries nothing twice."""

from __future__ import annotations

import os

import pytest

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"  # its own reports home; read when it is imported

pytest.importorskip("mcp_use", reason="mcp-use is not installed")

from datetime import timedelta
from pathlib import Path

from mcp_use import MCPClient

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told
from harness.watching import watching

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    target = servers.stdio().target
    config = {"mcpServers": {"odoo": {"command": target.command, "args": target.args, "env": target.env or {}}}}
    client = MCPClient(config=config)
    session = await client.create_session("odoo")
    given = {"echo": {"text": "hello"}}
    heard = [
        await told(lambda tool=tool: session.call_tool(tool, given.get(tool, {}), timedelta(seconds=1)))
        for tool in ("echo", "reject", "hang", "die")
    ]
    await client.close_all_sessions()
    return heard


@shows("ok", "tool error", "server death", "deadline", "limit and its source")
async def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    with ruled(tmp_path) as seen:
        await _story(servers)
        assert outcomes(seen) == [
            ("odoo", "echo", "ok", 1),
            ("odoo", "reject", "tool_error", 1),
            ("odoo", "hang", "deadline", 1),
            ("odoo", "die", "disconnected", 1),
        ]
        assert limits(seen) == [(1.0, "sdk")]
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
