# with: litellm
"""The part of LiteLLM's gateway that calls MCP servers. Its HTTP front needs `litellm-proxy`, which no index has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # a price list it fetches when it is imported

pytest.importorskip("litellm.proxy.mcp_server.mcp_server_manager", reason="litellm is not installed")

from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.mcp_server.mcp_server_manager import MCPServerManager

from harness.servers import HttpServer, Servers
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]

LIMIT = 1.5


class Gateway:
    """A gateway with one configured server, whose tools it has listed."""

    def __init__(self) -> None:
        self._manager = MCPServerManager()

    async def open(self, name: str, server: HttpServer) -> None:
        config = {name: {"url": server.target, "transport": "http", "timeout": LIMIT}}
        await self._manager.load_servers_from_config(config)
        (server_id,) = self._manager.get_registry()
        assert await self._manager.get_tools_for_server(server_id)

    async def call(self, name: str, tool: str, **arguments: Any) -> Any:
        return await self._manager.call_tool(name, tool, arguments, user_api_key_auth=UserAPIKeyAuth())


@shows("ok", "connector name", "tool error", "deadline", "limit and its source", "server death", "not connected")
async def test_a_server_of_the_gateway_is_the_connector_and_each_end_of_a_call_is_told_apart(
    servers: Servers, watched: Watched
) -> None:
    gateway = Gateway()
    await gateway.open("odoo", servers.http())
    for tool in ("echo", "reject", "hang", "die", "echo"):
        await told(lambda tool=tool: gateway.call("odoo", tool))
    calls = watched.lines("call")
    assert [(line["tool"], line["outcome"], line["attempts"]) for line in calls] == [
        ("echo", "ok", 1),
        ("reject", "tool_error", 1),
        ("hang", "deadline", 1),
        ("die", "disconnected", 1),
        ("echo", "rejected", 0),
    ]
    assert {line["connector"] for line in calls} == {"odoo"}
    assert (calls[2]["limit"], calls[2]["limits"]) == (LIMIT, {"host": LIMIT, "sdk": LIMIT})
    assert calls[4]["error_type"] == "not_connected"


@shows("reconnect reason")
async def test_a_connection_for_each_call_of_the_gateway_is_no_reconnect(servers: Servers, watched: Watched) -> None:
    gateway = Gateway()
    await gateway.open("odoo", servers.http())
    for _ in range(2):
        await gateway.call("odoo", "echo", text="hello")
    connects = watched.lines("connect")
    assert {line["connector"] for line in connects} == {"odoo"}
    assert {line["reason"] for line in connects} == {"initial", "additional"}


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("litellm") == {"active": 4, "missing": 0, "failed": 0}


async def _story(servers: Servers) -> list[tuple[str, str]]:
    gateway = Gateway()
    await gateway.open("odoo", servers.http())
    return [await told(lambda tool=tool: gateway.call("odoo", tool)) for tool in ("echo", "reject", "hang", "die")]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
