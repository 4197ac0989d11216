# requires: langchain-mcp-adapters==0.3.2
# python: 3.12
"""langchain-mcp-adapters, driven through its public API."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_mcp_adapters", reason="langchain-mcp-adapters is not installed")

from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import CallToolResult, TextContent

from harness.servers import HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


def connection(server: StdioServer | HttpServer, timeout: float | None = None) -> dict[str, Any]:
    options = {} if timeout is None else {"session_kwargs": {"read_timeout_seconds": timedelta(seconds=timeout)}}
    if isinstance(server, HttpServer):
        return {"transport": "streamable_http", "url": server.target, **options}
    target = server.target
    return {"transport": "stdio", "command": target.command, "args": target.args, "env": target.env, **options}


async def tools(client: MultiServerMCPClient) -> dict[str, Any]:
    return {tool.name: tool for tool in await client.get_tools()}


def odoo(server: StdioServer | HttpServer, timeout: float | None = None, **options: Any) -> MultiServerMCPClient:
    return MultiServerMCPClient({"odoo": connection(server, timeout)}, **options)


@shows("ok", "connector name")
async def test_the_configured_server_is_the_connector_of_call_and_session(servers: Servers, watched: Watched) -> None:
    echo = (await tools(odoo(servers.http())))["echo"]
    result = await echo.ainvoke({"text": "hello"})
    assert result[0]["text"] == "hello"
    call = watched.call()
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (call["limit"], call["limits"]) == (None, {"sdk": None})


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("langchain_mcp_adapters") == {"active": 5, "missing": 0, "failed": 0}


@shows("reconnect reason")
async def test_a_session_for_each_call_is_no_reconnect_and_no_connector_that_is_down(
    servers: Servers, watched: Watched
) -> None:
    echo = (await tools(odoo(servers.stdio())))["echo"]
    for _ in range(2):
        await echo.ainvoke({"text": "hello"})
    states = {
        attributes["otel_mcp.state"]: value
        for attributes, value in watched.points("otel_mcp.client.connector.state")
        if attributes["otel_mcp.connector"] == "odoo"
    }
    assert {state for state, value in states.items() if value} == {"closed"}
    assert [(line["connector"], line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("odoo", "initial", "ok"),
        ("odoo", "additional", "ok"),
        ("odoo", "additional", "ok"),
    ]
    assert [line["generation"] for line in watched.lines("call")] == [2, 3]
    assert {line["error_type"] for line in watched.lines("session_end")} == {None}


@shows("tool error")
async def test_a_refusal_of_the_tool_is_a_tool_error(servers: Servers, watched: Watched) -> None:
    await (await tools(odoo(servers.http())))["reject"].ainvoke({})
    assert [(line["outcome"], line["connector"]) for line in watched.lines("call")] == [("tool_error", "odoo")]


@shows("deadline", "limit and its source")
async def test_the_read_timeout_of_the_session_is_a_deadline_with_that_limit(
    servers: Servers, watched: Watched
) -> None:
    hang = (await tools(odoo(servers.http(), timeout=1.0)))["hang"]
    with pytest.raises(Exception, match="Timed out"):
        await hang.ainvoke({})
    call = watched.call()
    assert (call["outcome"], call["limit"], call["limit_source"], call["phase"]) == ("deadline", 1.0, "sdk", "wait")


@shows("server death")
async def test_a_server_that_dies_disconnects_the_call_and_the_next_one_is_well(
    servers: Servers, watched: Watched
) -> None:
    loaded = await tools(odoo(servers.stdio()))
    with pytest.raises(Exception, match="closed"):
        await loaded["die"].ainvoke({})
    await loaded["echo"].ainvoke({"text": "hello"})
    assert [(line["outcome"], line["cause"]) for line in watched.lines("call")] == [
        ("disconnected", "process_exit"),
        ("ok", None),
    ]


@shows("not connected")
async def test_a_server_that_cannot_be_reached_rejects_the_call_in_its_connect(
    servers: Servers, watched: Watched
) -> None:
    server = servers.http()
    echo = (await tools(odoo(server)))["echo"]
    server.kill()
    with pytest.raises(BaseException):  # noqa: B017, PT011 - an exception group of the SDK's
        await echo.ainvoke({"text": "hello"})
    call = watched.call()
    assert (call["connector"], call["tool"], call["attempts"], call["phase"]) == ("odoo", "echo", 0, "connect")
    assert (call["outcome"], call["error_type"]) == ("rejected", "not_connected")
    first, *_, last = watched.lines("connect")
    assert first["outcome"] == "ok"
    assert (last["connector"], last["outcome"] == "ok") == ("odoo", False)


@shows("attempts and unsafe retries")
async def test_an_interceptor_that_asks_again_makes_a_second_attempt_of_one_call(
    servers: Servers, watched: Watched
) -> None:
    async def twice(request: Any, handler: Any) -> Any:
        await handler(request)
        return await handler(request)

    commit = (await tools(odoo(servers.http(), tool_interceptors=[twice])))["commit"]
    await commit.ainvoke({})
    (call,) = watched.lines("call")
    assert (call["attempts"], call["attempt_outcomes"], call["retry_unsafe"]) == (2, ["ok", "ok"], False)


async def test_an_interceptor_that_answers_by_itself_makes_a_call_without_an_attempt(
    servers: Servers, watched: Watched
) -> None:
    async def remembered(request: Any, handler: Any) -> Any:
        return CallToolResult(content=[TextContent(type="text", text="from memory")])

    await (await tools(odoo(servers.http(), tool_interceptors=[remembered])))["echo"].ainvoke({"text": "hello"})
    assert [(line["outcome"], line["attempts"], line["sent"]) for line in watched.lines("call")] == [("ok", 0, False)]


async def test_an_interceptor_that_asks_for_another_tool_is_believed(servers: Servers, watched: Watched) -> None:
    async def other(request: Any, handler: Any) -> Any:
        return await handler(request.override(name="reject"))

    await (await tools(odoo(servers.http(), tool_interceptors=[other])))["echo"].ainvoke({"text": "hello"})
    assert [(line["tool"], line["outcome"]) for line in watched.lines("call")] == [("reject", "tool_error")]


@shows("ok", "connector name")
async def test_a_session_held_open_is_the_connectors_too(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()).session("odoo") as session:
        loaded = {tool.name: tool for tool in await load_mcp_tools(session, server_name="odoo")}
        await loaded["echo"].ainvoke({"text": "hello"})
        await loaded["echo"].ainvoke({"text": "hello"})
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]
    assert [(line["connector"], line["generation"]) for line in watched.lines("call")] == [("odoo", 1), ("odoo", 1)]


async def test_a_tool_loaded_without_a_name_is_named_by_its_target(servers: Servers, watched: Watched) -> None:
    loaded = {tool.name: tool for tool in await load_mcp_tools(None, connection=connection(servers.stdio()))}
    await loaded["echo"].ainvoke({"text": "hello"})
    assert [(line["connector"], line["outcome"]) for line in watched.lines("call")] == [("faulty", "ok")]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    loaded = await tools(odoo(servers.http(), timeout=1.0, handle_tool_errors=False))
    asked = {"echo": {"text": "hello"}, "reject": {}, "rpc_error": {"code": 408}, "hang": {}}
    return [await told(lambda name=name, given=given: loaded[name].ainvoke(given)) for name, given in asked.items()]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
