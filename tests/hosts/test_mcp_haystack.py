# requires: mcp-haystack==2.1.1
# requires: mcp==2.3.0
# python: 3.12
"""mcp-haystack has no adapter: its tools call from a thread of their own, with a limit around each call."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack_integrations.tools.mcp", reason="mcp-haystack is not installed")

from pathlib import Path

from haystack_integrations.tools.mcp import MCPTool, StdioServerInfo

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told_at_once
from harness.watching import watching

pytestmark = [pytest.mark.filterwarnings("ignore")]


def _story(servers: Servers) -> list[tuple[str, str]]:
    target = servers.stdio().target
    info = StdioServerInfo(command=target.command, args=list(target.args), env=target.env)
    given = {"echo": {"text": "hello"}}
    heard = []
    for name in ("echo", "reject", "hang", "die"):
        tool = MCPTool(name=name, server_info=info, connection_timeout=30, invocation_timeout=2)
        heard.append(told_at_once(lambda tool=tool, name=name: tool.invoke(**given.get(name, {}))))
        tool.close()
    return heard


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
        assert limits(seen) == [(2.0, "caller")]
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = _story(servers)
    assert during == before
