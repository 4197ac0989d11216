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

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


async def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    config = {"mcpServers": {"odoo": {"command": target.command, "args": target.args, "env": target.env or {}}}}
    client = MCPClient(config=config)
    session = await client.create_session("odoo")
    told = await heard(lambda tool, given: session.call_tool(tool, given, timedelta(seconds=1)))
    await client.close_all_sessions()
    return told


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(1.0, "sdk"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
