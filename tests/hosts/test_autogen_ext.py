# requires: autogen-ext==0.7.5
# requires: autogen-core
# requires: httpx
# requires: json-schema-to-pydantic
# requires: mcp==1.30.0
# python: 3.12
"""autogen-ext has no adapter: its workbench calls in the task of its caller."""

from __future__ import annotations

import pytest

pytest.importorskip("autogen_ext.tools.mcp", reason="autogen-ext is not installed")

from pathlib import Path

from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from harness.ruled import limits, outcomes, ruled
from harness.servers import Servers
from harness.signals import shows
from harness.telling import told
from harness.watching import watching

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    target = servers.stdio().target
    params = StdioServerParams(command=target.command, args=list(target.args), env=target.env, read_timeout_seconds=5)
    workbench = McpWorkbench(params)
    await workbench.start()
    given = {"echo": {"text": "hello"}}
    heard = [
        await told(lambda tool=tool: workbench.call_tool(tool, given.get(tool, {})))
        for tool in ("echo", "reject", "hang", "die")
    ]
    await told(workbench.stop)
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
        assert limits(seen) == [(5.0, "sdk")]
        assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
