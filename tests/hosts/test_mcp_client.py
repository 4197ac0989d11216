# requires: mcp==2.3.0
# python: 3.12
"""The SDK's own 2.x client."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp.client.client", reason="mcp 1.x has no mcp.Client")

import contextlib
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from harness.servers import Fault, Servers
from harness.signals import shows
from harness.telling import told
from harness.watching import Watched, watching

pytestmark = pytest.mark.anyio

ASKING = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("asking_server.py"))])
HEADER_MISMATCH = -32020


@shows("attempts and unsafe retries")
async def test_the_rounds_of_an_input_required_exchange_are_one_attempt_of_one_call(watched: Watched) -> None:
    async with Client(ASKING) as client:
        result = await client.call_tool("book")
    assert result.content[0].text == "booked"
    (call,) = watched.lines("call")
    assert (call["connector"], call["tool"], call["outcome"]) == ("asking_server", "book", "ok")
    assert (call["attempts"], call["attempt_outcomes"], call["phase"]) == (1, ["ok"], "wait")
    assert len([span for span in watched.spans() if span.name.startswith("tools/call")]) == 3


@shows("attempts and unsafe retries")
async def test_a_request_sent_again_after_a_header_mismatch_is_a_second_attempt(
    servers: Servers, watched: Watched
) -> None:
    server = servers.http(Fault("error", HEADER_MISMATCH, tool="echo", times=1), modern=True, name="crm")
    async with Client(server.target) as client:
        await client.call_tool("echo", {"text": "hello"})
    (call,) = watched.lines("call")
    assert (call["outcome"], call["attempt_outcomes"], call["retry_unsafe"]) == ("ok", ["error", "ok"], False)


async def test_every_patch_point_is_there(watched: Watched) -> None:
    assert watched.hooks("mcp_client") == {"active": 3, "missing": 0, "failed": 0}


@shows("ok", "connector name", "deadline", "limit and its source", "tool error", "server death")
async def test_each_way_a_call_can_end_is_told_apart(servers: Servers, watched: Watched) -> None:
    with contextlib.suppress(Exception):
        async with Client(servers.stdio().target, read_timeout_seconds=20.0) as client:
            await client.call_tool("echo", {"text": "hello"})
            await client.call_tool("reject")
            await told(lambda: client.call_tool("rpc_error", {"code": -32001}))
            await told(lambda: client.call_tool("hang", read_timeout_seconds=0.3))
            await told(lambda: client.call_tool("die"))
            await told(lambda: client.call_tool("echo"))
    calls = watched.lines("call")
    assert [(line["tool"], line["outcome"]) for line in calls] == [
        ("echo", "ok"),
        ("reject", "tool_error"),
        ("rpc_error", "error"),
        ("hang", "deadline"),
        ("die", "disconnected"),
        ("echo", "rejected"),
    ]
    assert [(line["limit"], line["limit_source"]) for line in calls] == [
        (limit, "sdk") for limit in (20.0, 20.0, 20.0, 0.3, 20.0, 20.0)
    ]


async def test_prompts_and_resources_are_calls_too(servers: Servers, watched: Watched) -> None:
    async with Client(servers.stdio().target) as client:
        await client.get_prompt("greet")
        await client.read_resource("demo://note")
    assert [(line["method"], line["outcome"], line["attempts"]) for line in watched.lines("call")] == [
        ("prompts/get", "ok", 1),
        ("resources/read", "ok", 1),
    ]


async def test_a_call_inside_an_in_process_server_is_a_call_of_its_own(servers: Servers, watched: Watched) -> None:
    """A proxy in the same process: the server's tool asks another server for a tool of the same name."""
    from mcp.server.lowlevel import Server

    async with Client(servers.stdio(name="behind").target) as behind:

        async def list_tools(context: Any, params: Any) -> Any:
            return await behind.list_tools()

        async def call_tool(context: Any, params: Any) -> Any:
            return await behind.call_tool(params.name, params.arguments)

        front: Any = Server("front", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Client(front) as client:
            await client.call_tool("echo", {"text": "hello"})
    assert [(line["connector"], line["tool"], line["attempts"]) for line in watched.lines("call")] == [
        ("faulty", "echo", 1),
        ("front", "echo", 1),
    ]


async def _story(servers: Servers) -> list[tuple[str, str]]:
    heard = []
    async with Client(ASKING) as client:
        heard.append(await told(lambda: client.call_tool("book")))
    with contextlib.suppress(Exception):
        async with Client(servers.stdio().target) as client:
            for tool, given in (("echo", {"text": "a"}), ("reject", {}), ("malformed", {}), ("die", {}), ("echo", {})):
                heard.append(await told(lambda tool=tool, given=given: client.call_tool(tool, given)))
    return heard


@shows("told the same")
async def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    before = await _story(servers)
    with watching(tmp_path / "log.jsonl"):
        during = await _story(servers)
    assert during == before
    assert await _story(servers) == before
