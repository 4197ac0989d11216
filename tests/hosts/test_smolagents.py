# requires: smolagents==1.26.0
# requires: mcpadapt==0.1.19
# requires: mcp==1.30.0
# python: 3.12
"""smolagents on mcpadapt has no adapter: it calls from a thread of its own, and knows no limit."""

from __future__ import annotations

import pytest

pytest.importorskip("smolagents", reason="smolagents is not installed")

from pathlib import Path

from smolagents import MCPClient

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told_at_once
from harness.watching import watching

pytestmark = [pytest.mark.filterwarnings("ignore")]


def _story(servers: Servers) -> list[tuple[str, str]]:
    given = {"echo": {"text": "hello"}}
    client = MCPClient(servers.stdio().target, structured_output=False)
    tools = {tool.name: tool for tool in client.get_tools()}
    heard = [told_at_once(lambda name=name: tools[name](**given.get(name, {}))) for name in ("echo", "reject", "die")]
    told_at_once(client.disconnect)
    return heard


@shows("ok", "tool error", "server death")
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    with ruled(tmp_path) as seen:
        _story(servers)
        assert outcomes(seen) == [
            ("odoo", "echo", "ok", 1),
            ("odoo", "reject", "tool_error", 1),
            ("odoo", "die", "disconnected", 1),
        ]
        assert limits(seen) == []
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = _story(servers)
    assert during == before
