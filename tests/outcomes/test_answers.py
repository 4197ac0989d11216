"""Calls that the peer answered, or that ran into the SDK's own time limit; over a pipe and over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from harness.observing import Program, run_watched
from harness.servers import Fault, HttpServer, Servers
from harness.sessions import MAJOR, PROTOCOL, call_tool, client_session
from outcomes.expected import OK, TOOL_ERROR, Expected, by_major, check, deadline, operations, peer_error

LIMIT = 0.3
TableRow = Callable[[str, str], None]


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, http: HttpServer, module_servers: Servers) -> Any:
    return http.target if request.param == "http" else module_servers.stdio(any_tool=True).target


# Under trio, httpx leaves async generators unfinished, with us and without: HTTP runs on asyncio only.
PLACES = [("stdio", "asyncio"), ("stdio", "trio"), ("http", "asyncio")]
everywhere = pytest.mark.parametrize(("target", "backend"), PLACES, indirect=["target"])


@everywhere
def test_answers_of_every_kind_reach_the_caller_and_leave_one_record_each(
    target: Any, backend: str, table_row: TableRow
) -> None:
    codes = (-32602, -32603, -32000, -32001, 408, 7)
    table_row("outcomes", "result")
    table_row("outcomes", "isError")
    table_row("outcomes", "JSON-RPC error")
    table_row("outcomes", "peer sends the time-out code")

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await it.call(call_tool(session, "echo", {"text": "hello"}))
            await it.call(call_tool(session, "reject", {"text": "no"}))
            for code in codes:
                await it.quiet_call(call_tool(session, "rpc_error", {"code": code}))

    seen = run_watched(program, backend)
    check(seen, "echo", OK)
    check(seen, "reject", TOOL_ERROR)
    check(seen, "rpc_error", *map(peer_error, codes))
    assert {dict(point.attributes)["error.type"]: point.count for point in operations(seen) if _failed(point)} == {
        "tool_error": 1,
        **{str(code): 1 for code in codes},
    }


def _failed(point: Any) -> bool:
    return point.attributes["otel_mcp.outcome"] != "ok"


@everywhere
def test_a_read_time_out_of_one_request_is_a_deadline(target: Any, backend: str, table_row: TableRow) -> None:
    table_row("outcomes", "read time-out of a request")

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await it.quiet_call(call_tool(session, "hang", timeout=LIMIT))

    seen = run_watched(program, backend)
    check(seen, "hang", deadline("sdk", LIMIT))
    (point,) = operations(seen)
    assert dict(point.attributes) == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "_other",
        "gen_ai.operation.name": "execute_tool",
        "error.type": "timeout",
        "mcp.protocol.version": PROTOCOL,
        "network.transport": point.attributes["network.transport"],
        "otel_mcp.connector": seen.calls[0].connector,
        "otel_mcp.outcome": "deadline",
    }
    assert point.count == 1


def test_a_read_time_out_of_the_session_is_a_deadline(http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", "read time-out of the session")

    async def program(it: Program) -> None:
        async with client_session(http.target, read_timeout=2 * LIMIT) as session:
            await it.quiet_call(call_tool(session, "hang"))
            await it.quiet_call(call_tool(session, "hang", timeout=LIMIT))

    check(run_watched(program), "hang", deadline("sdk", 2 * LIMIT), deadline("sdk", LIMIT))


def test_an_error_sent_inside_an_except_timeout_block_is_the_peers_error(target: Any, table_row: TableRow) -> None:
    table_row("outcomes", "peer's error while a time-out is handled")
    code = 408 if MAJOR == 1 else -32001

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            try:
                raise TimeoutError("an earlier one")
            except TimeoutError:
                await it.quiet_call(call_tool(session, "rpc_error", {"code": code}))

    check(run_watched(program), "rpc_error", peer_error(code))


def test_a_structured_answer_against_its_schema_is_an_error_of_the_call_only(target: Any, table_row: TableRow) -> None:
    table_row("outcomes", "answer failing its output schema")

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await session.list_tools()
            await it.quiet_call(call_tool(session, "structured", {"value": "three"}))
            await it.call(call_tool(session, "structured", {"value": 3}))

    failed = Expected("error", "RuntimeError", attempt=OK)
    check(run_watched(program), "structured", failed, OK)


def test_an_answer_that_is_no_result_is_an_error(target: Any, table_row: TableRow) -> None:
    table_row("outcomes", "malformed answer")

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await it.quiet_call(call_tool(session, "malformed"))

    check(run_watched(program), "malformed", Expected("error", "pydantic_core._pydantic_core.ValidationError"))


def test_arguments_that_cannot_be_sent_are_an_error_with_nothing_sent(target: Any, table_row: TableRow) -> None:
    table_row("outcomes", "invalid arguments, nothing sent")

    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await it.quiet_call(session.call_tool("echo", arguments="no mapping"))

    seen = run_watched(program)
    invalid = Expected("error", "pydantic_core._pydantic_core.ValidationError", sent=False, attempts=0)
    check(seen, "echo", invalid)


def test_a_hidden_listing_that_hangs_after_the_answer_is_the_calls_deadline(
    module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", "hidden tools/list hangs")
    server = module_servers.stdio(Fault("silent", on="tools/list"))

    async def program(it: Program) -> None:
        async with client_session(server.target, read_timeout=2.0) as session:
            with anyio.move_on_after(LIMIT):
                await it.call(call_tool(session, "echo", {"text": "hello"}))

    cut = Expected("deadline", "timeout", source="caller", limit=LIMIT, phase="validate", attempt=OK)
    check(run_watched(program), "echo", by_major(cut, cut))
