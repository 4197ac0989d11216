"""Kind 13: nobody knows whether it was done; a write that is sent again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.observing import Program
from harness.own_host import host
from harness.servers import Fault, HttpServer, Servers
from harness.sessions import MAJOR, call_tool, client_session
from scenarios.watching import See, Watched

KIND = "13 ambiguous outcome"
TableRow = Callable[[str, str], None]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_write_that_was_done_and_never_answered_is_sent_and_disconnected(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    fault = Fault("drop", tool="commit", times=1)
    server = servers.stdio(fault) if transport == "stdio" else servers.http(fault)

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.quiet_call(call_tool(session, "commit", timeout=2.0))

    seen = watched.run(scenario, again=lambda: isinstance(server, HttpServer) and servers.restart(server))
    (call,) = seen.calls("commit")
    # mcp 1.x swallows the reset of an event stream and leaves the caller to its limit.
    hidden = transport == "http" and MAJOR == 1
    ending = ("deadline", "timeout") if hidden else ("disconnected", "connection_closed")
    assert (call["outcome"], call["error_type"], call["sent"]) == (*ending, True)
    assert call["cause"] == ("process_exit" if transport == "stdio" else "reset")
    assert server.counts()["commits"] == 2  # the plain run's and the watched one's


def test_an_answer_after_the_limit_says_that_the_write_was_done(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.quiet_call(call_tool(session, "late", {"seconds": 0.4}, timeout=0.2))
            await see(lambda operator: operator.records("late_response"))

    seen = watched.run(scenario)
    (late,), (call,) = seen.records("late_response"), seen.calls("late")
    assert (late["id"], late["limit"]) == (call["id"], 0.2)


@pytest.mark.parametrize(("idempotent", "attempts"), [(False, 1), (True, 2)])
def test_a_host_sends_a_write_again_only_where_the_caller_said_that_it_may(
    idempotent: bool, attempts: int, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("drop", tool="commit"))

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target, attempts=2, backoff=0.1) as odoo:
            await program.quiet_call(odoo.call_tool("commit", idempotent=idempotent))

    seen = watched.run(scenario)
    (call,) = seen.calls("commit")
    assert (call["outcome"], call["cause"], call["sent"]) == ("disconnected", "process_exit", True)
    assert (call["attempt_outcomes"], call["retry_unsafe"]) == (["disconnected"] * attempts, False)
    retries = seen.scrape().value("otel_mcp_client_retries_total", otel_mcp_retry_unsafe="false")
    assert retries == attempts - 1
    assert server.counts()["commits"] == 2 * attempts  # the plain run's and the watched one's


def test_time_between_two_attempts_is_the_hosts_and_not_the_servers(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(Fault("error", -32000, tool="echo", times=1))

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target, backoff=0.3) as odoo:
            await program.call(odoo.call_tool("echo", idempotent=True))

    (call,) = watched.run(scenario).calls("echo")
    assert (call["outcome"], call["attempt_outcomes"]) == ("ok", ["error", "ok"])
    assert (call["phase"], call["retry_unsafe"]) == ("backoff", False)
    assert call["backoff"] >= 0.3
