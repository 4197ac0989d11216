"""The hand-written host of `examples/own_host`, on a real server. `tests/scenarios` has what goes wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.own_host import host
from harness.servers import Servers
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with watching(tmp_path / "calls.jsonl") as seen:
        yield seen


async def test_a_call_is_seen_with_the_hosts_name_and_limit(servers: Servers, watched: Watched) -> None:
    async with host.Connector("odoo", servers.stdio().target, limit=20.0) as odoo:
        await odoo.call_tool("echo", {"text": "hello"})
        await odoo.call_tool("reject")
    first, second = watched.lines("call")
    assert (first["connector"], first["tool"], first["outcome"], first["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (first["limit"], first["limit_source"], first["breaker"]) == (20.0, "host", "closed")
    assert second["outcome"] == "tool_error"
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]


async def test_the_host_works_the_same_with_nobody_watching(servers: Servers) -> None:
    async with host.Connector("odoo", servers.stdio().target) as odoo:
        result = await odoo.call_tool("echo", {"text": "hello"})
    assert result.content[0].text == "hello"
