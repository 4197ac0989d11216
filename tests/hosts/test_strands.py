# requires: strands-agents==1.62.0
# requires: mcp==2.1.1
# python: 3.12
"""strands-agents has no adapter: one session in a thread of its own, no retry."""

from __future__ import annotations

import pytest

pytest.importorskip("strands.tools.mcp", reason="strands-agents is not installed")

from datetime import timedelta
from pathlib import Path

from mcp.client.stdio import stdio_client
from strands.tools.mcp import MCPClient

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard_at_once, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    with MCPClient(lambda: stdio_client(target)) as client:
        return heard_at_once(lambda tool, given: client.call_tool_sync("use-1", tool, given, timedelta(seconds=1)))


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(1.0, "sdk"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
