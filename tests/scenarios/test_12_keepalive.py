"""Kind 12: keepalive probes that collide with calls, and false alarms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from harness.observing import Program
from harness.own_host import host
from harness.servers import Fault, HttpServer, Servers
from harness.sessions import call_tool, client_session, ping
from otel_mcp import hooks
from scenarios.watching import See, Watched

KIND = "12 keepalive"
TableRow = Callable[[str, str], None]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_probe_during_a_call_is_seen_as_overlap_from_both_sides(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(serial=True) if transport == "stdio" else servers.http(serial=True)

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, call_tool(session, "hang", timeout=1.0))
            await anyio.sleep(0.1)
            with anyio.move_on_after(0.3):
                await program.quiet_call(ping(session))

    # A serial server that was not told of the cancellation (mcp 1.x) would answer nothing more.
    seen = watched.run(scenario, again=lambda: isinstance(server, HttpServer) and servers.restart(server))
    (call,), (probe,) = seen.calls("hang"), seen.records("keepalive")
    assert call["keepalive_overlap"] is True
    assert (probe["method"], probe["outcome"], probe["overlap"]) == ("ping", "deadline", [call["id"]])
    overlapped = seen.scrape().total(
        "otel_mcp_client_keepalive_duration_seconds_count", otel_mcp_keepalive_overlap="true"
    )
    assert overlapped == 1


def test_a_probe_answered_by_an_error_is_alive_and_a_silent_one_is_not(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("error", -32601, on="ping", times=1), Fault("silent", on="ping", after=1))

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.quiet_call(ping(session))
            with anyio.move_on_after(0.3):
                await program.quiet_call(ping(session))

    seen = watched.run(scenario)
    assert [probe["outcome"] for probe in seen.records("keepalive")] == ["ok", "deadline"]


def test_a_listing_is_a_probe_only_where_somebody_says_so(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(extra_tools=900)

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.call(call_tool(session, "structured"))  # the SDK lists the tools inside it
            await session.list_tools()
            with hooks.keepalive("faulty", "tools/list"):
                await session.list_tools()

    seen = watched.run(scenario)
    assert [(probe["method"], probe["overlap"]) for probe in seen.records("keepalive")] == [("tools/list", [])]
    assert seen.scrape().value("otel_mcp_client_tools", otel_mcp_connector="faulty") > 900


def test_a_probe_that_waits_its_turn_takes_no_slow_call_for_a_dead_server(
    watched: Watched, servers: Servers, table_row: TableRow, tmp_path: Path
) -> None:
    table_row("scenarios", KIND)
    server, gate = servers.stdio(serial=True), tmp_path / "gate"

    async def scenario(program: Program, see: See) -> None:
        options = {"keepalive_interval": 0.1, "keepalive_limit": 5.0}
        async with host.Connector("odoo", server.target, **options) as odoo, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, odoo.call_tool("hold", {"until": str(gate)}))
            await see(lambda operator: operator.scrape().value("otel_mcp_client_lock_waiting") == 1)
            gate.touch()
            await see(lambda operator: operator.records("keepalive"))

    seen = watched.run(scenario, again=gate.unlink)
    assert [call["outcome"] for call in seen.calls()] == ["ok"]
    assert {(probe["method"], probe["outcome"], *probe["overlap"]) for probe in seen.records("keepalive")} == {
        ("tools/list", "ok")
    }
    assert [connect["reason"] for connect in seen.records("connect")] == ["initial"]


def test_a_probe_that_nobody_answers_is_the_reason_of_the_next_connect(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("silent", on="tools/list"))

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target, keepalive_interval=0.1, keepalive_limit=0.3):
            await see(lambda operator: len(operator.records("connect")) >= 2)

    seen = watched.run(scenario)
    assert [connect["reason"] for connect in seen.records("connect")][:2] == ["initial", "keepalive"]
    probe = seen.records("keepalive")[0]
    assert (probe["connector"], probe["method"], probe["outcome"]) == ("odoo", "tools/list", "deadline")
