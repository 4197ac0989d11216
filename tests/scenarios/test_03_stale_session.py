"""Kind 3: the server forgot the session, the host goes on with it."""

from __future__ import annotations

from collections.abc import Callable

from harness.observing import Program
from harness.own_host import host
from harness.servers import Fault, Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import See, Watched, strikes

KIND = "3 stale session"
TableRow = Callable[[str, str], None]


def test_calls_on_a_forgotten_session_are_expired_on_one_and_the_same_generation(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("forget", after=1))

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.call(call_tool(session, "echo"))
            await program.quiet_call(call_tool(session, "echo"))
            await program.quiet_call(call_tool(session, "echo"))

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    first, *stale = seen.calls("echo")
    assert first["outcome"] == "ok"
    assert {(call["outcome"], call["error_type"], call["cause"]) for call in stale} == {
        ("disconnected", "session_expired", "http_404")
    }
    assert len({call["generation"] for call in stale}) == 1
    assert all(call["session_age"] > 0 and call["idle"] >= 0 for call in stale)
    name = first["connector"]
    assert seen.scrape().total("otel_mcp_client_faults_total", otel_mcp_connector=name, otel_mcp_cause="http_404") == 2


def test_the_session_that_follows_a_forgotten_one_connects_for_that_reason(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("forget", after=1, times=1))

    async def scenario(program: Program, see: See) -> None:
        for _ in range(2):
            async with client_session(server.target) as session:
                await program.call(call_tool(session, "echo"))
                await program.quiet_call(call_tool(session, "echo"))

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    assert [connect["reason"] for connect in seen.records("connect")] == ["initial", "session_expired"]
    assert [call["generation"] for call in seen.calls("echo")] == [1, 1, 2, 2]
    assert seen.records("session_end")[0]["error_type"] == "session_expired"


def test_a_host_that_connects_again_answers_the_call_in_the_next_session(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("forget", after=1, times=1))

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target, backoff=0.2) as odoo:
            await program.call(odoo.call_tool("echo"))
            await program.call(odoo.call_tool("echo", idempotent=True))

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    call = seen.calls("echo")[1]
    assert (call["outcome"], call["attempt_outcomes"]) == ("ok", ["disconnected", "ok"])
    assert (call["generation"], call["retry_unsafe"]) == (2, False)
    assert call["backoff"] >= 0.2
    assert [connect["reason"] for connect in seen.records("connect")] == ["initial", "session_expired"]
    assert strikes(seen, "odoo") == {"transport": 1}
