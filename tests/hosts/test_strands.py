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

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told_at_once
from harness.watching import watching

pytestmark = [pytest.mark.filterwarnings("ignore")]


def _story(servers: Servers) -> list[tuple[str, str]]:
    target = servers.stdio().target
    given = {"echo": {"text": "hello"}}
    with MCPClient(lambda: stdio_client(target)) as client:
        return [
            told_at_once(
                lambda tool=tool: client.call_tool_sync("use-1", tool, given.get(tool, {}), timedelta(seconds=1))
            )
            for tool in ("echo", "reject", "hang", "die")
        ]


@shows("ok", "tool error", "server death", "deadline", "limit and its source")
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    with ruled(tmp_path) as seen:
        _story(servers)
        assert outcomes(seen) == [
            ("odoo", "echo", "ok", 1),
            ("odoo", "reject", "tool_error", 1),
            ("odoo", "hang", "deadline", 1),
            ("odoo", "die", "disconnected", 1),
        ]
        assert limits(seen) == [(1.0, "sdk")]
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = _story(servers)
    assert during == before
