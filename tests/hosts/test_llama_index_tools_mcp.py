# requires: llama-index-tools-mcp==0.6.0
# requires: mcp==2.3.0
# python: 3.12
"""llama-index-tools-mcp has no adapter: it opens a session for each call, which is no reconnect."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.tools.mcp", reason="llama-index-tools-mcp is not installed")

from pathlib import Path

from llama_index.tools.mcp import BasicMCPClient

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows


async def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    client = BasicMCPClient(target.command, args=list(target.args), env=target.env, timeout=5)
    return await heard(client.call_tool)


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(5.0, "sdk"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
