# requires: litellm==1.110.2
# requires: fastapi
# requires: expression
# requires: orjson
# requires: fastapi-sso
# requires: backoff
# requires: redis
# requires: mcp==2.3.0
# python: 3.12
"""LiteLLM's MCP client, driven directly."""

from __future__ import annotations

import os

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # a price list it fetches when it is imported

pytest.importorskip("litellm.mcp_client.client", reason="litellm is not installed")

from pathlib import Path
from typing import Any

from litellm.mcp_client.client import MCPClient
from litellm.types.mcp import MCPStdioConfig, MCPTransport
from mcp.types import CallToolRequestParams

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]


def client(server: StdioServer | HttpServer, timeout: float = 20.0) -> MCPClient:
    if isinstance(server, HttpServer):
        return MCPClient(server_url=server.target, timeout=timeout)
    target = server.target
    config = MCPStdioConfig(command=target.command, args=list(target.args), env=target.env or {})
    return MCPClient(transport_type=MCPTransport.stdio, stdio_config=config, timeout=timeout)


def asked(tool: str, **arguments: Any) -> CallToolRequestParams:
    return CallToolRequestParams(name=tool, arguments=arguments)


@shows("ok", "connector name")
async def test_a_call_with_its_connect_is_one_call_of_the_target_with_the_hosts_limit(
    servers: Servers, watched: Watched
) -> None:
    result = await client(servers.stdio()).call_tool(asked("echo", text="hello"))
    assert result.content[0].text == "hello"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("faulty", "echo", "ok", 1)
    assert (call["limits"], call["phase"]) == ({"host": 20.0, "sdk": 20.0}, "connect")


async def test_every_patch_point_of_the_client_is_there(watched: Watched) -> None:
    hooks = watched.hooks("litellm")
    assert hooks["active"] >= 3
    assert (hooks["missing"], hooks["failed"]) == (0, 0)


@shows("reconnect reason")
async def test_a_connection_for_each_call_is_no_reconnect(servers: Servers, watched: Watched) -> None:
    server = servers.http()
    for _ in range(2):
        await client(server).call_tool(asked("echo", text="hello"))
    assert [(line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("initial", "ok"),
        ("additional", "ok"),
    ]


@shows("deadline", "limit and its source", "tool error", "server death")
async def test_each_way_a_call_can_end_is_told_apart_though_litellm_makes_a_result_of_it(
    servers: Servers, watched: Watched
) -> None:
    server = servers.stdio()
    for tool in ("reject", "rpc_error", "die"):
        await client(server).call_tool(asked(tool))
    await client(server, 4.0).call_tool(asked("hang"))
    calls = watched.lines("call")
    assert [(line["tool"], line["outcome"]) for line in calls] == [
        ("reject", "tool_error"),
        ("rpc_error", "error"),
        ("die", "disconnected"),
        ("hang", "deadline"),
    ]
    assert (calls[-1]["limit"], calls[-1]["limit_source"] in {"host", "sdk"}) == (4.0, True)


@shows("not connected")
async def test_a_server_that_cannot_be_reached_rejects_the_call(servers: Servers, watched: Watched) -> None:
    server = servers.http()
    server.kill()
    await client(server).call_tool(asked("echo", text="hello"))
    call = watched.call()
    assert (call["connector"], call["tool"]) == (f"127.0.0.1:{server.port}", "echo")
    assert (call["outcome"], call["error_type"]) == ("rejected", "not_connected")


async def test_calls_in_a_persistent_session_are_calls_of_whoever_asked(servers: Servers, watched: Watched) -> None:
    one = client(servers.stdio(Fault("silent", tool="slow")))
    persistent = one.open_persistent_session()
    for _ in range(2):
        await one.call_tool(asked("echo", text="hello"), persistent_session=persistent)
    persistent.close()
    await persistent.wait_closed()
    assert [(line["outcome"], line["attempts"], line["generation"]) for line in watched.lines("call")] == [
        ("ok", 1, 1),
        ("ok", 1, 1),
    ]
    assert len(watched.lines("connect")) == 1


async def _story(servers: Servers) -> list[tuple[str, str]]:
    server = servers.stdio()
    tools = ("echo", "reject", "rpc_error", "die")
    return [await told(lambda tool=tool: client(server).call_tool(asked(tool))) for tool in tools]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
