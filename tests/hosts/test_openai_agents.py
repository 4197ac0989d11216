# requires: openai-agents==0.24.0
# python: 3.12
"""The OpenAI Agents SDK's MCP servers, driven through their public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("agents.mcp", reason="openai-agents is not installed")

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from agents.exceptions import UserError
from agents.mcp import MCPServerManager, MCPServerStdio, MCPServerStreamableHttp

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.waiting import await_for
from harness.watching import Watched, watching

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Use `streamable_http_client`:DeprecationWarning"),  # of the host, on mcp 1.x
]


def odoo(server: StdioServer | HttpServer, timeout: float = 20.0, **options: Any) -> Any:
    options = {"name": "odoo", "client_session_timeout_seconds": timeout, **options}
    if isinstance(server, HttpServer):
        return MCPServerStreamableHttp(params={"url": server.target}, **options)
    target = server.target
    params: Any = {"command": target.command, "args": list(target.args), "env": target.env}
    return MCPServerStdio(params=params, **options)


@shows("ok", "connector name")
async def test_the_servers_name_is_the_connector_and_its_call_is_one_attempt(
    servers: Servers, watched: Watched
) -> None:
    async with odoo(servers.stdio()) as server:
        result = await server.call_tool("echo", {"text": "hello"})
    assert result.content[0].text == "hello"
    call = watched.call()
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (call["limit"], call["limit_source"]) == (20.0, "sdk")
    assert [(line["connector"], line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("odoo", "initial", "ok")
    ]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("openai_agents") == {"active": 7, "missing": 0, "failed": 0}


async def test_a_name_made_of_the_command_is_not_used(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio(), name=None) as server:
        await server.call_tool("echo", {"text": "hello"})
    assert watched.call()["connector"] == "faulty"


@shows("tool error")
async def test_a_refusal_of_the_tool_is_a_tool_error(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.http()) as server:
        await server.call_tool("reject", {})
    assert [(line["connector"], line["outcome"]) for line in watched.lines("call")] == [("odoo", "tool_error")]


@shows("deadline", "limit and its source")
async def test_the_session_timeout_is_a_deadline_with_that_limit(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.http(), 1.0) as server:
        with pytest.raises(Exception, match=r"(?i)timed out"):
            await server.call_tool("hang", {})
    call = watched.call()
    assert (call["outcome"], call["limit"], call["limit_source"], call["phase"]) == ("deadline", 1.0, "sdk", "wait")


@shows("attempts and unsafe retries")
async def test_retries_of_the_host_are_attempts_of_one_call_and_its_sleep_is_back_off(
    servers: Servers, watched: Watched
) -> None:
    server_process = servers.stdio(Fault("error", -32000, tool="echo", times=2))
    async with odoo(server_process, max_retry_attempts=2, retry_backoff_seconds_base=0.2) as server:
        await server.call_tool("echo", {"text": "hello"})
    assert [value for _, value in watched.points("otel_mcp.client.retries") if value] == [2]
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"]) == ("ok", ["error", "error", "ok"])
    assert (call["attempts"], call["retry_unsafe"], call["phase"]) == (3, False, "backoff")
    assert server_process.counts()["tools"]["echo"]["result"] == 1


@shows("deadline", "limit and its source", "attempts and unsafe retries")
async def test_a_deadline_that_is_tried_again_in_a_session_of_its_own_is_an_unsafe_retry(
    servers: Servers, watched: Watched
) -> None:
    server_process = servers.http(Fault("silent", tool="commit", times=1))
    async with odoo(server_process, 1.0, max_retry_attempts=1, retry_backoff_seconds_base=0.01) as server:
        await server.call_tool("commit", {})
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"], call["retry_unsafe"]) == ("ok", ["deadline", "ok"], True)
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [
        ("odoo", "initial"),
        ("odoo", "additional"),
    ]


@shows("lock wait and holder")
async def test_a_call_behind_another_waits_for_the_hosts_lock_and_names_its_holder(
    servers: Servers, watched: Watched, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    server_process = servers.http()
    async with odoo(server_process) as server:
        first = asyncio.create_task(server.call_tool("hold", {"until": str(gate)}))
        await await_for(lambda: server_process.counts()["tools"].get("hold"))
        second = asyncio.create_task(server.call_tool("echo", {"text": "hello"}))
        await await_for(lambda: [value for _, value in watched.points("otel_mcp.client.lock.waiting") if value] == [1])
        gate.touch()
        await asyncio.gather(first, second)
    calls = {line["tool"]: line for line in watched.lines("call")}
    assert (calls["echo"]["lock_holder"], calls["echo"]["phase"]) == ("hold on odoo", "lock")
    assert calls["echo"]["lock_wait"] > 0
    assert calls["hold"]["lock_holder"] is None
    waits = watched.points("otel_mcp.client.lock.wait.duration")
    assert [attributes["otel_mcp.lock.name"] for attributes, _ in waits] == ["request"]


@shows("server death", "not connected")
async def test_a_server_that_dies_disconnects_the_call_and_refuses_the_next(servers: Servers, watched: Watched) -> None:
    server = odoo(servers.stdio())
    await server.connect()
    with pytest.raises(Exception, match="closed"):
        await server.call_tool("die", {})
    with pytest.raises(BaseException):  # noqa: B017, PT011 - an error without a text on mcp 1.x
        await server.call_tool("echo", {"text": "hello"})
    with contextlib.suppress(Exception):
        await server.cleanup()
    first, second = watched.lines("call")
    assert (first["outcome"], first["cause"]) == ("disconnected", "process_exit")
    assert (second["outcome"], second["error_type"], second["sent"]) == ("rejected", "not_connected", False)


@shows("not connected")
async def test_a_call_before_the_connect_is_rejected(servers: Servers, watched: Watched) -> None:
    server = odoo(servers.stdio())
    with pytest.raises(UserError):
        await server.call_tool("echo", {"text": "hello"})
    call = watched.call()
    assert (call["connector"], call["outcome"], call["error_type"]) == ("odoo", "rejected", "not_connected")


@shows("reconnect reason")
async def test_a_reconnect_that_the_manager_is_asked_for_says_so(servers: Servers, watched: Watched) -> None:
    server = odoo(servers.stdio())
    async with MCPServerManager([server]) as manager:
        await manager.reconnect(failed_only=False)
        await server.call_tool("echo", {"text": "hello"})
    assert [(line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("initial", "ok"),
        ("requested", "ok"),
    ]
    assert watched.call()["generation"] == 2


async def _story(servers: Servers) -> list[tuple[str, str]]:
    server = odoo(servers.stdio(), 20.0, max_retry_attempts=1, retry_backoff_seconds_base=0.01)
    heard = []
    async with odoo(servers.http(), 1.0, max_retry_attempts=1, retry_backoff_seconds_base=0.01) as remote:
        for tool, given in (("echo", {"text": "hello"}), ("reject", {}), ("hang", {})):
            heard.append(await told(lambda tool=tool, given=given: remote.call_tool(tool, given)))
    await server.connect()
    for tool, given in (("echo", {"text": "hello"}), ("rpc_error", {"code": -32001}), ("die", {}), ("echo", {})):
        heard.append(await told(lambda tool=tool, given=given: server.call_tool(tool, given)))
    with contextlib.suppress(Exception):
        await server.cleanup()
    return heard


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
