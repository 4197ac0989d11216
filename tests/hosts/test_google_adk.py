# requires: google-adk==2.13.0
# requires: mcp==2.3.0
# again: mcp==1.30.0
# python: 3.12
"""ADK's MCP toolset, driven through its public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("google.adk.tools.mcp_tool", reason="google-adk is not installed")

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::UserWarning")]  # ADK's experimental features


def odoo(server: StdioServer | HttpServer, timeout: float = 20.0, **options: Any) -> McpToolset:
    params: Any
    if isinstance(server, HttpServer):
        params = StreamableHTTPConnectionParams(url=server.target, timeout=20.0, sse_read_timeout=timeout)
    else:
        params = StdioConnectionParams(server_params=server.target, timeout=timeout)
    return McpToolset(connection_params=params, **{"tool_name_prefix": "odoo", **options})


async def tools(toolset: McpToolset) -> dict[str, Any]:
    return {tool.name: tool for tool in await toolset.get_tools()}


def run(tool: Any, **arguments: Any) -> Any:
    """As ADK's flow calls a tool; a context is what it passes along, and nothing in it is used here."""
    return tool.run_async(args=arguments, tool_context=SimpleNamespace(state={}, actions=None, tool_confirmation=None))


@shows("ok", "connector name")
async def test_the_prefix_is_the_connector_and_a_call_is_one_attempt(servers: Servers, watched: Watched) -> None:
    toolset = odoo(servers.stdio())
    result = await run((await tools(toolset))["echo"], text="hello")
    await toolset.close()
    assert result["content"][0]["text"] == "hello"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (call["limit"], call["limit_source"]) == (20.0, "sdk")
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("google_adk") == {"active": 4, "missing": 0, "failed": 0}


async def test_a_toolset_without_a_prefix_is_named_by_its_target(servers: Servers, watched: Watched) -> None:
    toolset = odoo(servers.stdio(), tool_name_prefix=None)
    await run((await tools(toolset))["echo"], text="hello")
    await toolset.close()
    assert watched.call()["connector"] == "faulty"
    assert {line["connector"] for line in watched.lines("connect")} == {"faulty"}


@shows("tool error", "deadline", "limit and its source")
async def test_a_refusal_and_a_deadline_are_told_apart_though_adk_makes_a_dictionary_of_it(
    servers: Servers, watched: Watched
) -> None:
    toolset = odoo(servers.http(), 1.0)
    loaded = await tools(toolset)
    await run(loaded["reject"])
    await run(loaded["hang"])
    await toolset.close()
    refused, late = watched.lines("call")
    assert (refused["outcome"], late["outcome"]) == ("tool_error", "deadline")
    assert (late["limit"], late["limit_source"], late["phase"]) == (1.0, "sdk", "wait")


@shows("server death", "reconnect reason")
async def test_a_server_that_dies_disconnects_the_call_and_is_started_again_for_the_next(
    servers: Servers, watched: Watched
) -> None:
    toolset = odoo(servers.stdio())
    loaded = await tools(toolset)
    await run(loaded["die"])
    await run(loaded["echo"], text="hello")
    await toolset.close()
    assert [(line["outcome"], line["cause"]) for line in watched.lines("call")] == [
        ("disconnected", "process_exit"),
        ("ok", None),
    ]
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "transport"]
    assert watched.call()["generation"] == 2


@shows("server death")
async def test_a_call_whose_session_dies_of_a_reset_is_disconnected_and_not_cancelled(
    servers: Servers, watched: Watched
) -> None:
    toolset = odoo(servers.http(Fault("reset", tool="echo")))
    result = await run((await tools(toolset))["echo"], text="hello")
    await told(toolset.close)
    assert "error" in result
    assert watched.call()["outcome"] == "disconnected"


@shows("not connected")
async def test_a_server_that_cannot_be_reached_rejects_the_call(servers: Servers, watched: Watched) -> None:
    server = servers.http()
    toolset = odoo(server)
    echo = (await tools(toolset))["echo"]
    await toolset.close()
    server.kill()
    result = await run(echo, text="hello")
    assert "error" in result
    call = watched.call()
    assert (call["connector"], call["outcome"], call["error_type"]) == ("odoo", "rejected", "not_connected")
    assert call["attempts"] == 0


@shows("lock wait and holder")
async def test_calls_wait_for_the_lock_under_which_a_session_is_made(servers: Servers, watched: Watched) -> None:
    toolset = odoo(servers.http(Fault("delay", 0.3, on="initialize")))
    loaded = await tools(toolset)
    await toolset.close()
    await asyncio.gather(run(loaded["echo"], text="hello"), run(loaded["structured"]))
    await toolset.close()
    first, second = sorted(watched.lines("call"), key=lambda line: line["lock_wait"])
    assert second["lock_wait"] > first["lock_wait"]
    assert second["lock_holder"] == f"{first['tool']} on odoo"


async def _story(servers: Servers) -> list[tuple[str, str]]:
    toolset = odoo(servers.stdio(), 3.0)
    loaded = await tools(toolset)
    names = ("echo", "reject", "rpc_error", "hang", "die", "echo")
    heard = [await told(lambda name=name: run(loaded[name])) for name in names]
    await toolset.close()
    return heard


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
