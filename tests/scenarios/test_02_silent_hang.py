"""Kind 2: reads the request, never answers, and nobody set a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from harness.observing import Program
from harness.servers import Fault, Servers
from harness.sessions import MAJOR, call_tool, client_session
from scenarios.watching import Hanging, See, Watched, hanging

KIND = "2 silent hang"
TableRow = Callable[[str, str], None]


def _server(servers: Servers, transport: str, *faults: Fault) -> Any:
    return servers.stdio(*faults) if transport == "stdio" else servers.http(*faults)


def _connector(server: Any) -> str:
    return "faulty" if not isinstance(server.target, str) else f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_tool_that_never_answers_is_seen_while_it_hangs(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = _server(servers, transport)
    found: list[Hanging] = []

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, call_tool(session, "hang"))
            found.append(await see(hanging(_connector(server), phase="wait", tool="hang", limit=None)))
            tasks.cancel_scope.cancel()

    seen = watched.run(scenario)
    (now,) = found[-1:]
    assert now.metrics.value("otel_mcp_client_limit_seconds", otel_mcp_connector=_connector(server)) == 0
    assert now.top[0]["age"] > 0
    assert now.top_log[0]["limit"] is None
    (call,) = seen.calls("hang")
    assert (call["outcome"], call["sent"]) == ("cancelled", True)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_a_handshake_or_a_listing_that_never_ends_is_seen_while_it_hangs(
    transport: str, method: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = _server(servers, transport, Fault("silent", on=method))
    found: list[Hanging] = []

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target, initialize=False) as session, anyio.create_task_group() as tasks:
            if method == "initialize":
                tasks.start_soon(program.quiet_call, session.initialize())
            else:
                await session.initialize()
                tasks.start_soon(program.quiet_call, session.list_tools())
            found.append(await see(hanging(_connector(server), phase="wait", method=method)))
            tasks.cancel_scope.cancel()

    seen = watched.run(scenario)
    assert found[-1].records[0]["id"] is None
    states = {
        point.labels["otel_mcp_state"]: point.value
        for point in found[-1].metrics.matching("otel_mcp_client_connector_state")
    }
    assert states["connecting" if method == "initialize" else "ready"] == 1
    (connect,) = seen.records("connect")
    assert connect["outcome"] == ("cancelled" if method == "initialize" else "ok")


def test_a_listing_hidden_inside_a_call_that_was_answered_is_named_as_validation(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("silent", on="tools/list"))
    found: list[Hanging] = []

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, call_tool(session, "structured"))
            found.append(await see(hanging("faulty", phase="validate", tool="structured")))
            tasks.cancel_scope.cancel()

    (call,) = watched.run(scenario).calls("structured")
    assert (call["phase"], call["attempt_outcomes"], call["outcome"]) == ("validate", ["ok"], "cancelled")


@pytest.mark.skipif(MAJOR == 1, reason="mcp 1.x sends no server/discover")
def test_a_discovery_that_never_ends_is_seen_while_it_hangs(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("silent", on="server/discover"))

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target, initialize=False) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, session.discover())
            await see(hanging("faulty", phase="wait", method="server/discover", limit=10.0))
            tasks.cancel_scope.cancel()

    watched.run(scenario)
