# requires: fastmcp-slim[client]==4.2.3
# python: 3.12
"""The fastmcp client, driven through its public API."""

from __future__ import annotations

import pytest

pytest.importorskip("fastmcp.client", reason="fastmcp is not installed")

import contextlib
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.group import ClientGroup
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio


def transport(server: StdioServer, **options: Any) -> StdioTransport:
    target = server.target
    return StdioTransport(target.command, list(target.args), env=target.env, **options)


def odoo(server: StdioServer | HttpServer, **options: Any) -> Client[Any]:
    where: Any = server.target if isinstance(server, HttpServer) else transport(server)
    return Client(where, name="odoo", timeout=20, **options)


@shows("ok", "connector name")
async def test_a_named_client_is_the_connector_and_its_call_is_one_attempt(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        result = await client.call_tool("echo", {"text": "hello"})
    assert result.content[0].text == "hello"
    call = watched.call()
    assert (call["connector"], call["tool"], call["outcome"]) == ("odoo", "echo", "ok")
    assert (call["attempts"], call["limit"], call["limit_source"]) == (1, 20.0, "sdk")
    assert [(line["connector"], line["reason"], line["outcome"]) for line in watched.lines("connect")] == [
        ("odoo", "initial", "ok")
    ]


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("fastmcp") == {"active": 7, "missing": 0, "failed": 0}


@shows("tool error")
async def test_a_refusal_of_the_tool_is_a_tool_error(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        with pytest.raises(ToolError):
            await client.call_tool("reject")
    assert [(line["outcome"], line["error_type"]) for line in watched.lines("call")] == [("tool_error", "tool_error")]


@shows("deadline", "limit and its source")
async def test_a_timeout_of_one_call_is_a_deadline_with_that_limit(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        with pytest.raises(Exception, match=r"(?i)timed out"):
            await client.call_tool("hang", timeout=0.2)
    call = watched.call()
    assert (call["connector"], call["outcome"], call["bucket"]) == ("odoo", "deadline", "deadline")
    assert (call["limit"], call["limit_source"], call["phase"]) == (0.2, "sdk", "wait")


@shows("server death", "not connected")
async def test_a_server_that_dies_disconnects_the_call_and_refuses_the_next(servers: Servers, watched: Watched) -> None:
    client = odoo(servers.stdio())
    with contextlib.suppress(Exception):
        async with client:
            with pytest.raises(Exception, match="closed"):
                await client.call_tool("die", {"code": 3})
            with pytest.raises(Exception, match=r"closed|not connected|unexpectedly"):
                await client.call_tool("echo")
    first, second = watched.lines("call")
    assert (first["outcome"], first["error_type"], first["cause"]) == (
        "disconnected", "connection_closed", "process_exit",
    )  # fmt: skip
    assert (second["connector"], second["outcome"], second["error_type"]) == ("odoo", "rejected", "not_connected")
    assert second["sent"] is False


@shows("reconnect reason")
async def test_a_kept_server_that_died_is_started_again_for_the_next_block(servers: Servers, watched: Watched) -> None:
    client = odoo(servers.stdio())
    with contextlib.suppress(Exception):
        async with client:
            with pytest.raises(Exception, match="closed"):
                await client.call_tool("die")
    async with client:
        await client.call_tool("echo")
    await client.close()
    assert [(line["connector"], line["reason"]) for line in watched.lines("connect")] == [
        ("odoo", "initial"),
        ("odoo", "transport"),
    ]


async def test_a_second_block_reuses_the_kept_session(servers: Servers, watched: Watched) -> None:
    client = odoo(servers.stdio())
    for _ in range(2):
        async with client:
            await client.call_tool("echo")
    await client.close()
    assert [line["reason"] for line in watched.lines("connect")] == ["initial"]
    assert [line["generation"] for line in watched.lines("call")] == [1, 1]


@shows("reconnect reason")
async def test_a_session_that_was_closed_on_purpose_is_no_reconnect(servers: Servers, watched: Watched) -> None:
    client = odoo(servers.http())
    for _ in range(2):
        async with client:
            await client.call_tool("echo")
    assert [line["reason"] for line in watched.lines("connect")] == ["initial", "additional"]


async def test_an_http_server_that_vanishes_disconnects_the_call(servers: Servers, watched: Watched) -> None:
    client = odoo(servers.http(Fault("reset", tool="echo")))
    with contextlib.suppress(Exception):
        async with client:
            await client.call_tool("echo")
    call = watched.call()
    assert (call["connector"], call["outcome"]) == ("odoo", "disconnected")


@shows("keepalive probe")
async def test_a_ping_is_a_keepalive_probe_of_the_connector(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        assert await client.ping()
    probe = watched.lines("keepalive")[-1]
    assert (probe["connector"], probe["method"], probe["outcome"]) == ("odoo", "ping", "ok")


async def test_prompts_and_resources_are_calls_too(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        await client.get_prompt("greet")
        await client.read_resource("demo://note")
    assert [(line["method"], line["connector"], line["outcome"]) for line in watched.lines("call")] == [
        ("prompts/get", "odoo", "ok"),
        ("resources/read", "odoo", "ok"),
    ]


@shows("ok", "connector name")
async def test_a_key_of_the_configuration_is_the_connector(servers: Servers, watched: Watched) -> None:
    async with Client({"mcpServers": {"crm": {"url": servers.http().target}}}) as client:
        await client.call_tool("echo")
    assert watched.call()["connector"] == "crm"


@shows("ok", "connector name")
async def test_the_keys_of_a_group_are_the_connectors(servers: Servers, watched: Watched) -> None:
    urls = {name: {"url": servers.http().target} for name in ("crm", "erp")}
    async with ClientGroup.from_config({"mcpServers": urls}) as group:
        await group.call_tool("erp_echo", {})
        await group.call_tool("crm_echo", {})
    assert [(line["connector"], line["tool"]) for line in watched.lines("call")] == [("erp", "echo"), ("crm", "echo")]
    assert sorted(line["connector"] for line in watched.lines("connect")) == ["crm", "erp"]


async def test_a_name_that_fastmcp_made_up_is_not_used(servers: Servers, watched: Watched) -> None:
    async with Client(transport(servers.stdio())) as client:
        await client.call_tool("echo")
    assert watched.call()["connector"] == "faulty"


async def test_a_rule_comes_before_the_name_of_the_client(servers: Servers, tmp_path: Path) -> None:
    with watching(tmp_path / "log.jsonl", OTEL_MCP_CONNECTORS="books=*faulty*") as seen:
        async with odoo(servers.stdio()) as client:
            await client.call_tool("echo")
        assert seen.call()["connector"] == "books"


async def test_one_client_span_an_attempt_beside_the_one_fastmcp_makes(servers: Servers, watched: Watched) -> None:
    async with odoo(servers.stdio()) as client:
        await client.call_tool("echo")
    ours = {span.name: span for span in watched.spans()}
    attempt, call = ours["tools/call echo"], ours["call echo"]
    assert attempt.parent is not None
    assert attempt.parent.span_id == call.context.span_id
    assert [span.name for span in watched.spans() if span.kind.name == "CLIENT"].count("tools/call echo") == 1


async def _story(servers: Servers) -> list[tuple[str, str]]:
    client = odoo(servers.stdio())
    heard = []
    with contextlib.suppress(Exception):
        async with client:
            heard.append(await told(lambda: client.call_tool("echo", {"text": "hello"})))
            heard.append(await told(lambda: client.call_tool("reject")))
            heard.append(await told(lambda: client.call_tool("rpc_error", {"code": -32001})))
            heard.append(await told(lambda: client.call_tool("hang", timeout=0.2)))
            heard.append(await told(lambda: client.call_tool("die")))
            heard.append(await told(lambda: client.call_tool("echo")))
    return heard


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert len(before) == 6
    assert during == before
    assert await _story(servers) == before
