# requires: crewai==1.15.30
# requires: mcp==1.30.0
# python: 3.12
"""CrewAI's native MCP client and tool, driven through their public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("crewai.mcp", reason="crewai is not installed")

from pathlib import Path
from typing import Any

from crewai.mcp.client import MCPClient
from crewai.mcp.transports.http import HTTPTransport
from crewai.mcp.transports.stdio import StdioTransport
from crewai.tools.mcp_native_tool import MCPNativeTool

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the host, on import and on connect
]


def client(server: StdioServer | HttpServer, timeout: float = 20, **options: Any) -> MCPClient:
    transport: Any
    if isinstance(server, HttpServer):
        transport = HTTPTransport(url=server.target)
    else:
        transport = StdioTransport(server.target.command, list(server.target.args), env=server.target.env)
    return MCPClient(transport, execution_timeout=timeout, **options)  # type: ignore[arg-type]


def tool(server: StdioServer | HttpServer, name: str, timeout: float = 20, **options: Any) -> MCPNativeTool:
    return MCPNativeTool(lambda: client(server, timeout, **options), name, {}, "odoo")


async def run(tool: MCPNativeTool, **arguments: Any) -> Any:
    return await tool._run_async(**arguments)


@shows("ok", "connector name")
async def test_a_call_with_its_connect_is_one_call_of_the_target_with_the_hosts_limit(
    servers: Servers, watched: Watched
) -> None:
    assert await run(tool(servers.stdio(), "echo"), text="hello") == "hello"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("faulty", "echo", "ok", 1)
    assert (call["limit"], call["limit_source"]) == (20.0, "host")
    assert call["phase"] == "connect"


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("crewai") == {"active": 4, "missing": 0, "failed": 0}


@shows("reconnect reason")
async def test_a_connection_for_each_call_is_no_reconnect(servers: Servers, watched: Watched) -> None:
    server = servers.stdio()
    for _ in range(2):
        await run(tool(server, "echo"), text="hello")
    assert [(line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("initial", "ok"),
        ("additional", "ok"),
    ]


@shows("tool error")
async def test_a_refusal_of_the_tool_is_a_tool_error(servers: Servers, watched: Watched) -> None:
    await run(tool(servers.stdio(), "reject"))
    assert [(line["outcome"], line["attempts"]) for line in watched.lines("call")] == [("tool_error", 1)]


@shows("deadline", "limit and its source", "attempts and unsafe retries")
async def test_a_deadline_is_tried_three_times_and_each_runs_on_in_the_server(
    servers: Servers, watched: Watched
) -> None:
    server = servers.stdio()
    with pytest.raises(ConnectionError, match="timed out"):
        await run(tool(server, "hang", 0.5))
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"]) == ("deadline", ["deadline"] * 3)
    assert (call["limit"], call["limit_source"], call["retry_unsafe"]) == (0.5, "host", True)
    assert call["phase"] == "backoff"
    assert call["backoff"] > call["limit"]
    assert server.counts()["tools"]["hang"]["asked"] == 3


@shows("server death")
async def test_a_server_that_dies_disconnects_the_call(servers: Servers, watched: Watched) -> None:
    with pytest.raises(ConnectionError):
        await run(tool(servers.stdio(), "die", max_retries=1))
    call = watched.call()
    assert (call["outcome"], call["cause"]) == ("disconnected", "process_exit")


@shows("not connected")
async def test_a_server_that_cannot_be_reached_rejects_the_call(servers: Servers, watched: Watched) -> None:
    server = servers.http()
    server.kill()
    with pytest.raises(Exception, match=r"(?i)connect"):
        await run(tool(server, "echo"), text="hello")
    call = watched.call()
    assert (call["tool"], call["outcome"], call["error_type"]) == ("echo", "rejected", "not_connected")
    assert call["connector"] == f"127.0.0.1:{server.port}"


async def test_the_client_alone_is_seen_too(servers: Servers, watched: Watched) -> None:
    alone = client(servers.stdio(Fault("error", -32000, tool="echo", times=1)))
    await alone.connect()
    await alone.call_tool("echo", {"text": "hello"})
    await alone.disconnect()
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"], call["retry_unsafe"]) == ("ok", ["error", "ok"], False)


async def _story(servers: Servers) -> list[tuple[str, str]]:
    server = servers.stdio()
    names = ("echo", "reject", "rpc_error", "die")
    heard = [await told(lambda name=name: run(tool(server, name, max_retries=1))) for name in names]
    return [*heard, await told(lambda: run(tool(server, "hang", 0.5, max_retries=1)))]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
