# requires: semantic-kernel==1.45.0
# requires: mcp==1.30.0
# python: 3.12
"""semantic-kernel has no adapter: one session a plugin, no retry."""

from __future__ import annotations

import pytest

pytest.importorskip("semantic_kernel.connectors.mcp", reason="semantic-kernel is not installed")

from pathlib import Path

from semantic_kernel.connectors.mcp import MCPStdioPlugin

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


async def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    plugin = MCPStdioPlugin("odoo", target.command, args=list(target.args), env=target.env, request_timeout=5)
    await plugin.connect()
    told = await heard(lambda tool, given: plugin.call_tool(tool, **given))
    await plugin.close()
    return told


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(5.0, "sdk"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
