# requires: agent-framework-core==1.23.0
# requires: mcp==2.3.0
# requires: tenacity
# python: 3.12
"""agent-framework's MCP tools, driven through their public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from agent_framework import MCPStdioTool, MCPStreamableHTTPTool

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.waiting import await_for
from harness.watching import Watched, watching

pytestmark = [
    pytest.mark.anyio,
    # Of the host; as an error it would look to it like a ping without an answer.
    pytest.mark.filterwarnings("ignore:ping is removed"),
]


def odoo(server: StdioServer | HttpServer, **options: Any) -> Any:
    options = {"name": "odoo", "request_timeout": 20, **options}
    if isinstance(server, HttpServer):
        return MCPStreamableHTTPTool(url=server.target, **options)
    target = server.target
    return MCPStdioTool(command=target.command, args=list(target.args), env=target.env, **options)


@shows("ok", "connector name")
async def test_the_tools_name_is_the_connector_and_its_call_is_one_attempt(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as tool:
        result = await tool.call_tool("echo", text="hello")
    assert result[0].text == "hello"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (call["limit"], call["limit_source"]) == (20.0, "sdk")
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("agent_framework") == {"active": 6, "missing": 0, "failed": 0}


@shows("deadline", "limit and its source", "tool error", "server death")
async def test_each_way_a_call_can_end_is_told_apart(servers: Servers, watched: Watched) -> None:
    with contextlib.suppress(Exception):
        async with odoo(servers.stdio(), request_timeout=3) as tool:
            for name in ("reject", "hang", "die", "echo"):
                await told(lambda name=name: tool.call_tool(name))
    assert [(line["tool"], line["outcome"], line["error_type"]) for line in watched.lines("call")] == [
        ("reject", "tool_error", "tool_error"),
        ("hang", "deadline", "timeout"),
        ("die", "disconnected", "connection_closed"),
        ("echo", "rejected", "not_connected"),
    ]
    assert watched.lines("call")[1]["limit"] == 3.0


async def test_a_prompt_is_a_call_too(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as tool:
        await tool.get_prompt("greet")
    call = watched.call()
    assert (call["method"], call["tool"], call["outcome"]) == ("prompts/get", "greet", "ok")


@shows("attempts and unsafe retries", "reconnect reason")
async def test_a_session_the_server_forgot_is_made_again_and_the_call_is_tried_twice(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.http(Fault("forget", tool="echo", times=1))) as tool:
        await tool.call_tool("echo", text="hello")
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempts"], call["attempt_outcomes"]) == ("ok", 2, ["disconnected", "ok"])
    assert (call["generation"], call["phase"]) == (2, "connect")
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [
        ("odoo", "initial"),
        ("odoo", "session_expired"),
    ]


@shows("keepalive probe", "reconnect reason")
async def test_a_ping_before_a_listing_that_finds_nobody_is_a_reconnect_for_that(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.stdio()) as tool:
        await told(lambda: tool.call_tool("die"))
        await tool.load_tools()
        await tool.call_tool("echo", text="hello")
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "keepalive"]
    assert {(line["connector"], line["method"]) for line in watched.lines("keepalive")} == {("odoo", "ping")}
    assert watched.call()["outcome"] == "ok"


@shows("reconnect reason")
async def test_a_connection_that_the_user_resets_says_so(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as tool:
        await tool.connect(reset=True)
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "requested"]


@shows("lock wait and holder")
async def test_calls_with_headers_of_their_own_wait_for_the_hosts_lock(
    servers: Servers, watched: Watched, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    server = servers.http()
    async with odoo(server, header_provider=lambda kwargs: {"x-user": "1"}) as tool:
        first = asyncio.create_task(tool.call_tool("hold", until=str(gate)))
        await await_for(lambda: server.counts()["tools"].get("hold"))
        second = asyncio.create_task(tool.call_tool("echo", text="hello"))
        await await_for(lambda: [value for _, value in watched.points("otel_mcp.client.lock.waiting") if value] == [1])
        gate.touch()
        await asyncio.gather(first, second)
    calls = {line["tool"]: line for line in watched.lines("call")}
    assert (calls["echo"]["lock_holder"], calls["echo"]["phase"]) == ("hold on odoo", "lock")


async def test_one_client_span_an_attempt_beside_the_one_the_host_makes(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as tool:
        await tool.call_tool("echo", text="hello")
    names = [span.name for span in watched.spans() if span.kind.name == "CLIENT"]
    assert names.count("tools/call echo") == 1


async def _story(servers: Servers) -> list[tuple[str, str]]:
    async with odoo(servers.http(Fault("forget", tool="echo", times=1))) as tool:
        heard = [await told(lambda: tool.call_tool("echo", text="hello"))]
    names = ("echo", "reject", "rpc_error", "hang", "die", "echo")
    async with odoo(servers.stdio(), request_timeout=3) as tool:
        return heard + [await told(lambda name=name: tool.call_tool(name)) for name in names]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert len(before) == 7
    assert during == before
    assert await _story(servers) == before
