# requires: mcp==1.30.0
# python: 3.12
"""The SDK's own session group. It knows no names and tries nothing twice, so it needs no adapter."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from mcp.client.session_group import ClientSessionGroup, ClientSessionParameters

from harness.servers import Servers
from harness.sessions import sdk_timeout
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


def prefixed(name: str, server: Any) -> str:
    return f"{server.name}.{name}"


def within(seconds: float) -> ClientSessionParameters:
    return ClientSessionParameters(read_timeout_seconds=sdk_timeout(seconds))


@pytest.fixture
def watched(tmp_path: Path) -> Any:
    with watching(tmp_path / "calls.jsonl", OTEL_MCP_CONNECTORS="books=*--name books*;crm=*--name crm*") as seen:
        yield seen


@shows("ok", "tool error", "name by a rule")
async def test_each_server_of_a_group_is_a_connector_and_tools_keep_their_own_names(
    servers: Servers, watched: Watched
) -> None:
    async with ClientSessionGroup(component_name_hook=prefixed) as group:
        for name in ("books", "crm"):
            await group.connect_to_server(servers.stdio(name=name).target, within(20))
        await group.call_tool("crm.echo", {"text": "hello"})
        await group.call_tool("books.reject", {})
    assert [(line["connector"], line["tool"], line["outcome"]) for line in watched.lines("call")] == [
        ("crm", "echo", "ok"),
        ("books", "reject", "tool_error"),
    ]
    assert {(line["limit"], line["limit_source"], line["attempts"]) for line in watched.lines("call")} == {
        (20.0, "sdk", 1)
    }


@shows("deadline", "limit and its source", "server death")
async def test_a_deadline_and_a_server_that_dies_are_told_apart(servers: Servers, watched: Watched) -> None:
    with contextlib.suppress(Exception):
        async with ClientSessionGroup() as group:
            await group.connect_to_server(servers.stdio(name="books").target, within(20))
            await told(lambda: group.call_tool("hang", {}, read_timeout_seconds=sdk_timeout(0.4)))
            await told(lambda: group.call_tool("die", {}))
            await told(lambda: group.call_tool("echo", {}))
    assert [(line["outcome"], line["error_type"]) for line in watched.lines("call")] == [
        ("deadline", "timeout"),
        ("disconnected", "connection_closed"),
        ("rejected", "not_connected"),
    ]


@shows("reconnect reason")
async def test_a_server_that_is_connected_again_after_it_was_left_is_no_reconnect(
    servers: Servers, watched: Watched
) -> None:
    target = servers.stdio(name="books").target
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(target)
        await group.disconnect_from_server(session)
        await group.connect_to_server(target)
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [
        ("books", "initial"),
        ("books", "additional"),
    ]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    async with ClientSessionGroup(component_name_hook=prefixed) as group:
        await group.connect_to_server(servers.stdio(name="crm").target, within(20))
        limits = {"hang": sdk_timeout(0.4)}
        return [
            await told(lambda tool=tool: group.call_tool(f"crm.{tool}", {}, read_timeout_seconds=limits.get(tool)))
            for tool in ("echo", "reject", "hang", "die", "echo")
        ]


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
