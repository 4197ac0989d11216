"""Kind 12: keepalive probes that collide with calls, and false alarms."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from harness.observing import Program
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
