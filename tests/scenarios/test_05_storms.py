"""Kind 5: reconnect storms, give-ups, sessions that live for milliseconds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from harness.observing import Program
from harness.own_host import host
from harness.servers import Fault, Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import Operator, See, Watched, strikes

KIND = "5 reconnect storm"
TableRow = Callable[[str, str], None]


def test_a_server_that_exits_right_after_the_handshake_shows_reconnects_and_short_lives(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("exit", 3, on="tools/list"))

    async def scenario(program: Program, see: See) -> None:
        for _ in range(4):
            async with client_session(server.target) as session:
                await program.quiet_call(session.list_tools())

    seen = watched.run(scenario)
    assert [connect["reason"] for connect in seen.records("connect")] == ["initial", *["transport"] * 3]
    ends = seen.records("session_end")
    assert [end["generation"] for end in ends] == [1, 2, 3, 4]
    assert {end["exit_code"] for end in ends} == {3}
    assert all(end["age"] < 5 for end in ends)
    metrics = seen.scrape()
    reconnects = metrics.total("otel_mcp_client_connect_duration_seconds_count", otel_mcp_connect_reason="transport")
    assert reconnects == 3
    assert metrics.total("mcp_client_session_duration_seconds_count", error_type="connection_closed") == 4


def test_a_server_that_cannot_be_started_is_failed_and_every_try_is_counted(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(exit_at_start=127)

    async def scenario(program: Program, see: See) -> None:
        for _ in range(3):
            with contextlib.suppress(Exception):
                async with client_session(server.target, initialize=False) as session:
                    await program.call(session.initialize())
        await see(_failed)

    seen = watched.run(scenario)
    connects = seen.records("connect")
    assert [(connect["outcome"], connect["exit_code"]) for connect in connects] == [("disconnected", 127)] * 3
    assert {connect["cause"] for connect in connects} == {"process_exit"}


def _failed(operator: Operator) -> bool:
    state = operator.scrape().value("otel_mcp_client_connector_state", otel_mcp_state="failed")
    return state == 1


def test_six_drops_with_health_between_are_told_from_a_host_that_opens_a_session_per_call(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    dropping, healthy = servers.stdio(name="drops"), servers.http()

    async def scenario(program: Program, see: See) -> None:
        for _ in range(6):
            async with client_session(dropping.target) as session:
                await program.call(call_tool(session, "echo"))
                await program.quiet_call(call_tool(session, "die"))
            async with client_session(healthy.target) as session:
                await program.call(call_tool(session, "echo"))

    seen = watched.run(scenario)
    reasons: dict[str, list[str]] = {}
    for connect in seen.records("connect"):
        reasons.setdefault(connect["connector"], []).append(connect["reason"])
    assert reasons["faulty"] == ["initial", *["transport"] * 5]
    assert reasons[f"127.0.0.1:{healthy.port}"] == ["initial", *["additional"] * 5]


def test_a_breaker_ends_a_storm_of_reconnects(watched: Watched, servers: Servers, table_row: TableRow) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("exit", 3, tool="echo"))

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target, backoff=0.1) as odoo:
            await program.quiet_call(odoo.call_tool("echo", idempotent=True))
            await program.quiet_call(odoo.call_tool("echo", idempotent=True))

    seen = watched.run(scenario)
    assert [(call["outcome"], call["attempts"], call["sent"]) for call in seen.calls("echo")] == [
        ("disconnected", 3, True),
        ("rejected", 0, False),
    ]
    first, *others = [connect["reason"] for connect in seen.records("connect")]
    assert (first, set(others)) == ("initial", {"transport"})
    ends = [(end["cause"], end["exit_code"]) for end in seen.records("session_end")]
    assert ends[:3] == [("process_exit", 3)] * 3
    assert strikes(seen, "odoo") == {"transport": 3}
    assert server.counts()["tools"]["echo"]["asked"] == 6  # three of the plain run, three of the watched one
