# requires: smolagents==1.26.0
# requires: mcpadapt==0.1.19
# requires: mcp==1.30.0
# python: 3.12
"""smolagents on mcpadapt has no adapter: it calls from a thread of its own, and knows no limit."""

from __future__ import annotations

import pytest

pytest.importorskip("smolagents", reason="smolagents is not installed")

import contextlib
from pathlib import Path

from smolagents import MCPClient

from harness.ruled import Told, ends_are_told_apart, heard_at_once, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


def story(servers: Servers) -> list[Told]:
    client = MCPClient(servers.stdio().target, structured_output=False)
    tools = {tool.name: tool for tool in client.get_tools()}
    told = heard_at_once(lambda tool, given: tools[tool](**given), without="hang")
    with contextlib.suppress(Exception):  # its server is dead
        client.disconnect()
    return told


@shows("name by a rule", "ok", "tool error", "server death")
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=None, without="hang")


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
