# requires: pydantic-ai-slim[mcp]==2.68.0
# requires: fastmcp-slim[client]==4.2.3
# python: 3.12
"""pydantic-ai's MCP toolset, driven through its public API without a model."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai.mcp", reason="pydantic-ai is not installed")

import contextlib
from pathlib import Path
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from harness.servers import HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


def odoo(server: StdioServer | HttpServer, **options: Any) -> MCPToolset[Any]:
    options = {"id": "odoo", "read_timeout": 20, "init_timeout": 20, **options}
    if isinstance(server, HttpServer):
        return MCPToolset(server.target, **options)
    target = server.target
    return MCPToolset(StdioTransport(target.command, list(target.args), env=target.env), **options)


@shows("ok", "connector name")
async def test_the_toolsets_id_is_the_connector_and_its_call_is_one_attempt(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as toolset:
        assert await toolset.direct_call_tool("echo", {"text": "hello"}) == "hello"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"], call["attempts"]) == ("odoo", "echo", "ok", 1)
    assert (call["limit"], call["limit_source"]) == (20.0, "sdk")
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [("odoo", "initial")]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("pydantic_ai") == {"active": 2, "missing": 0, "failed": 0}


async def test_an_id_made_of_the_url_is_not_used(servers: Servers, watched: Watched) -> None:
    server = servers.http()
    async with odoo(server, id=None) as toolset:
        await toolset.direct_call_tool("echo", {"text": "hello"})
    assert watched.call()["connector"] == f"127.0.0.1:{server.port}"


@shows("tool error", "deadline", "limit and its source", "server death")
async def test_each_way_a_call_can_end_is_told_apart(servers: Servers, watched: Watched) -> None:
    with contextlib.suppress(Exception):
        async with odoo(servers.stdio(), read_timeout=3) as toolset:
            for tool in ("reject", "hang", "die"):
                await told(lambda tool=tool: toolset.direct_call_tool(tool, {}))
    assert [(line["tool"], line["outcome"]) for line in watched.lines("call")] == [
        ("reject", "tool_error"),
        ("hang", "deadline"),
        ("die", "disconnected"),
    ]
    assert watched.lines("call")[1]["limit"] == 3.0


@shows("not connected")
async def test_a_call_on_a_toolset_that_is_not_entered_connects_first_and_is_rejected_if_it_cannot(
    servers: Servers, watched: Watched
) -> None:
    server = servers.http()
    toolset = odoo(server)
    await toolset.direct_call_tool("echo", {"text": "hello"})
    server.kill()
    with pytest.raises(Exception, match=r"(?s)."):
        await toolset.direct_call_tool("echo", {"text": "hello"})
    first, second = watched.lines("call")
    assert (first["outcome"], first["phase"]) == ("ok", "connect")
    assert (second["connector"], second["outcome"], second["error_type"]) == ("odoo", "rejected", "not_connected")


async def _story(servers: Servers) -> list[tuple[str, str]]:
    heard = []
    with contextlib.suppress(Exception):
        async with odoo(servers.stdio(), read_timeout=3) as toolset:
            for tool in ("echo", "reject", "rpc_error", "hang", "die"):
                heard.append(await told(lambda tool=tool: toolset.direct_call_tool(tool, {})))  # noqa: PERF401
    return heard


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert len(before) == 5
    assert during == before
    assert await _story(servers) == before
