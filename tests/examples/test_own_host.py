"""The hand-written host of `examples/own_host`, on a real server: what it reports is what is seen."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.servers import Fault, Servers
from harness.waiting import await_for
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio

_SOURCE = Path(__file__).parents[2] / "examples" / "own_host" / "host.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("own_host", _SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["own_host"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


host = _load()


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


async def test_deadlines_open_the_breaker_and_the_next_call_is_rejected_unsent(
    servers: Servers, watched: Watched
) -> None:
    server = servers.stdio()
    breaker = host.Breaker("odoo", threshold=2, cooldown=600.0)
    async with host.Connector("odoo", server.target, breaker=breaker) as odoo:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await odoo.call_tool("hang", limit=0.2)
        with pytest.raises(host.Refused):
            await odoo.call_tool("echo", {"text": "hello"})
        states = {a["otel_mcp.breaker.state"]: v for a, v in watched.points("otel_mcp.client.breaker.state")}
        strikes = [(a["otel_mcp.breaker.cause"], v) for a, v in watched.points("otel_mcp.client.breaker.strikes") if v]
    assert [(line["outcome"], line["error_type"], line["sent"]) for line in watched.lines("call")] == [
        ("deadline", "timeout", True),
        ("deadline", "timeout", True),
        ("rejected", "breaker_open", False),
    ]
    assert {(line["limit"], line["limit_source"]) for line in watched.lines("call")[:2]} == {(0.2, "host")}
    assert watched.call()["breaker"] == "open"
    assert {state for state, value in states.items() if value} == {"open"}
    assert strikes == [("deadline", 2)]
    (opened,) = watched.lines("breaker")
    assert (opened["to"], opened["cause"], opened["strikes"]) == ("open", "deadline", {"deadline": 2})
    assert "echo" not in server.counts()["tools"]


async def test_a_call_behind_a_slow_one_waits_for_the_lock_and_dies_of_it_unsent(
    servers: Servers, watched: Watched, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    server = servers.stdio()
    async with host.Connector("odoo", server.target) as odoo:
        slow = asyncio.create_task(odoo.call_tool("hold", {"until": str(gate)}))
        await await_for(lambda: server.counts()["tools"].get("hold"))
        with pytest.raises(TimeoutError):
            await odoo.call_tool("echo", {"text": "hello"}, limit=0.2)
        gate.touch()
        await slow
    calls = {line["tool"]: line for line in watched.lines("call")}
    assert (calls["echo"]["outcome"], calls["echo"]["phase"], calls["echo"]["sent"]) == ("deadline", "lock", False)
    assert (calls["echo"]["lock_holder"], calls["echo"]["attempts"]) == ("hold on odoo", 0)


async def test_a_retry_after_back_off_in_a_new_session_is_a_second_attempt(servers: Servers, watched: Watched) -> None:
    server = servers.stdio(Fault("error", -32000, tool="echo", times=1))
    async with host.Connector("odoo", server.target, backoff=0.3) as odoo:
        await odoo.call_tool("echo", {"text": "hello"}, idempotent=True)
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"]) == ("ok", ["error", "ok"])
    assert (call["phase"], call["retry_unsafe"]) == ("backoff", False)
    assert call["backoff"] > 0


async def test_a_server_that_dies_is_connected_again_for_the_transport(servers: Servers, watched: Watched) -> None:
    async with host.Connector("odoo", servers.stdio().target) as odoo:
        with pytest.raises(Exception, match="closed"):
            await odoo.call_tool("die")
        await await_for(lambda: len(watched.points("otel_mcp.client.connect.duration")) == 2)
        await odoo.call_tool("echo", {"text": "hello"})
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "transport"]
    assert [(line["outcome"], line["generation"]) for line in watched.lines("call")] == [("disconnected", 1), ("ok", 2)]


async def test_a_probe_without_an_answer_is_a_keepalive_deadline_and_the_reason_to_reconnect(
    servers: Servers, watched: Watched
) -> None:
    server = servers.stdio(Fault("silent", on="tools/list", times=1))
    options = {"keepalive_interval": 0.1, "keepalive_limit": 0.3}
    async with host.Connector("odoo", server.target, **options):
        await await_for(lambda: len(watched.points("otel_mcp.client.connect.duration")) == 2)
    assert [line["reason"] for line in watched.lines("connect")][:2] == ["initial", "keepalive"]
    probe = watched.lines("keepalive")[0]
    assert (probe["connector"], probe["method"], probe["outcome"]) == ("odoo", "tools/list", "deadline")


async def test_the_host_works_the_same_with_nobody_watching(servers: Servers) -> None:
    async with host.Connector("odoo", servers.stdio().target) as odoo:
        result = await odoo.call_tool("echo", {"text": "hello"})
    assert result.content[0].text == "hello"
