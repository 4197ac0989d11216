# requires: agno==3.1.10
# requires: mcp==2.3.0
# requires: fastmcp-slim[client]==4.2.3
# python: 3.12
"""agno's MCP toolkit, driven through its public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("agno.tools.mcp", reason="agno is not installed")

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agno.tools.mcp import MCPTools
from mcp import StdioServerParameters

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


def odoo(server: StdioServer | HttpServer, **options: Any) -> MCPTools:
    options = {"name": "odoo", "timeout_seconds": 20, **options}
    if isinstance(server, HttpServer):
        return MCPTools(url=server.target, **options)
    parameters: StdioServerParameters = server.target
    return MCPTools(server_params=parameters, transport="stdio", **options)


async def call(toolkit: MCPTools, tool: str, **arguments: Any) -> Any:
    return await toolkit.functions[tool].entrypoint(**arguments)  # type: ignore[misc]


@shows("ok", "connector name")
async def test_the_toolkits_name_is_the_connector_and_its_call_is_one_attempt(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.stdio()) as toolkit:
        result = await call(toolkit, "echo", text="hello")
    assert result.content == "hello"
    (line,) = watched.lines("call")
    assert (line["connector"], line["tool"], line["outcome"], line["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (line["limit"], line["limit_source"]) == (20.0, "sdk")
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("agno") == {"active": 6, "missing": 0, "failed": 0}


async def test_a_name_made_of_the_target_is_not_used(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio(), name=None) as toolkit:
        await call(toolkit, "echo", text="hello")
    assert watched.call()["connector"] == "faulty"


@shows("keepalive probe")
async def test_the_ping_before_each_call_is_a_keepalive_probe_and_no_attempt(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.stdio()) as toolkit:
        for _ in range(2):
            await call(toolkit, "echo", text="hello")
    assert [(line["connector"], line["method"], line["outcome"]) for line in watched.lines("keepalive")] == [
        ("odoo", "ping", "ok"),
        ("odoo", "ping", "ok"),
    ]
    assert [line["attempts"] for line in watched.lines("call")] == [1, 1]


@shows("keepalive probe")
async def test_a_slow_ping_is_the_phase_in_which_the_call_was(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio(Fault("delay", 0.5, on="ping"))) as toolkit:
        await call(toolkit, "echo", text="hello")
    assert (watched.call()["phase"], watched.call()["outcome"]) == ("connect", "ok")


@shows("deadline", "limit and its source", "tool error", "server death")
async def test_each_way_a_call_can_end_is_told_apart_though_agno_makes_a_text_of_it(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.stdio(Fault("silent", tool="slow")), timeout_seconds=3) as toolkit:
        for tool in ("reject", "slow", "die", "echo"):
            await call(toolkit, tool)
    assert [(line["tool"], line["outcome"], line["error_type"]) for line in watched.lines("call")] == [
        ("reject", "tool_error", "tool_error"),
        ("slow", "deadline", "timeout"),
        ("die", "disconnected", "connection_closed"),
        ("echo", "rejected", "not_connected"),
    ]
    assert watched.lines("call")[1]["limit"] == 3.0


@shows("keepalive probe", "reconnect reason")
async def test_a_toolkit_that_finds_nobody_alive_connects_again_for_that(servers: Servers, watched: Watched) -> None:
    toolkit = odoo(servers.stdio(), refresh_connection=True)
    await toolkit.connect()
    await call(toolkit, "die")
    assert not await toolkit.is_alive()
    await toolkit.connect(force=True)
    await call(toolkit, "echo", text="hello")
    await toolkit.close()
    assert [(line["connector"], line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("odoo", "initial", "ok"),
        ("odoo", "keepalive", "ok"),
    ]
    assert (watched.call()["outcome"], watched.call()["generation"]) == ("ok", 2)


@shows("lock wait and holder")
async def test_calls_of_one_run_wait_for_the_lock_under_which_its_session_is_made(
    servers: Servers, watched: Watched
) -> None:
    server = servers.http(Fault("delay", 0.3, on="initialize", after=1))
    toolkit = odoo(server, header_provider=lambda: {"x-user": "1"})
    run = SimpleNamespace(run_id="run-1")
    async with toolkit:
        await asyncio.gather(*(call(toolkit, tool, _agno_run_context=run) for tool in ("echo", "structured")))
        waits = watched.points("otel_mcp.client.lock.wait.duration")
        await toolkit.cleanup_run_session("run-1")
    assert [(attributes["otel_mcp.lock.name"], count) for attributes, count in waits] == [("session", 2)]
    first, second = sorted(watched.lines("call"), key=lambda line: line["lock_wait"])
    assert second["lock_wait"] > first["lock_wait"]
    assert second["lock_holder"] == f"{first['tool']} on odoo"
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "additional"]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    tools = ("echo", "reject", "rpc_error", "structured", "slow", "die", "echo")
    async with odoo(servers.stdio(Fault("silent", tool="slow")), timeout_seconds=3) as toolkit:
        return [await told(lambda tool=tool: call(toolkit, tool)) for tool in tools]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
