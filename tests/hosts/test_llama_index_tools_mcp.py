# requires: llama-index-tools-mcp==0.6.0
# requires: mcp==2.3.0
# python: 3.12
"""llama-index-tools-mcp has no adapter: it opens a session for each call, which is no reconnect."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.tools.mcp", reason="llama-index-tools-mcp is not installed")

from pathlib import Path

from llama_index.tools.mcp import BasicMCPClient

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told
from harness.watching import watching

pytestmark = pytest.mark.anyio


async def _story(servers: Servers) -> list[tuple[str, str]]:
    target = servers.stdio().target
    client = BasicMCPClient(target.command, args=list(target.args), env=target.env, timeout=5)
    given = {"echo": {"text": "hello"}}
    return [
        await told(lambda tool=tool: client.call_tool(tool, given.get(tool, {})))
        for tool in ("echo", "reject", "hang", "die")
    ]


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
        assert limits(seen) == [(5.0, "sdk")]
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
