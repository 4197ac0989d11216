"""What goes wrong between a client and a streamable HTTP server, and what the caller is left with.

On 2.x the caller is told. On 1.x a bad status or a reset ends the transport's task group: a caller in the task that
opened it is cancelled by that, a caller in another task waits for its own limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from harness.observing import Program, run_watched
from harness.servers import Fault, HttpServer, Servers
from harness.sessions import MAJOR, call_tool, client_session
from otel_mcp.testing import Capture
from outcomes.conftest import STATUSES
from outcomes.expected import CLOSED, OK, Expected, check, deadline

LIMIT = 0.4
CAUSES = {401: "http_401", 403: "http_403", 404: "http_404", 429: "http_429", 500: "http_5xx"}
NO_ANSWER = {
    "eof": "event stream ends without an answer",
    "accepted": "202 to a request",
    "html": "a web page for an answer",
    "drop": "event stream reset in its middle",
}
TableRow = Callable[[str, str], None]


def calling(target: str, tool: str) -> Callable[[Program], Any]:
    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await it.quiet_call(call_tool(session, tool, timeout=LIMIT))

    return program


def by_status(status: int) -> Expected:
    error = "session_expired" if status == 404 else str(status)
    return Expected("disconnected", error, cause=CAUSES[status])


@pytest.mark.parametrize("written", ["?tenant=north west", "/"], ids=["a space", "a redirect"])
def test_a_url_that_the_http_client_does_not_send_as_it_stands_is_watched_as_any(
    written: str, http: HttpServer, table_row: TableRow
) -> None:
    table_row("outcomes", "URL with a space" if "?" in written else "redirect to the server")
    seen = run_watched(calling(http.target + written, "status_404"))
    check(seen, "status_404", by_status(404))
    seen = run_watched(calling(http.target + written, "hang"))
    check(seen, "hang", deadline("sdk", LIMIT))


@pytest.mark.parametrize("status", STATUSES)
def test_a_bad_status_disconnects_the_caller_in_the_sessions_own_task(
    status: int, http: HttpServer, table_row: TableRow
) -> None:
    table_row("outcomes", f"HTTP {status}")
    seen = run_watched(calling(http.target, f"status_{status}"))
    check(seen, f"status_{status}", by_status(status))
    faults(seen, CAUSES[status], 1)
    (fault,) = seen.events("fault")
    assert (fault.fields["status"], fault.fields["id"]) == (status, seen.calls[0].fields["id"])


def test_a_bad_status_stays_the_cause_where_the_caller_waits_for_its_limit(
    http: HttpServer, table_row: TableRow
) -> None:
    table_row("outcomes", "HTTP 401, caller in another task")

    async def program(it: Program) -> None:
        async def call(session: Any) -> None:
            with anyio.CancelScope(shield=True):  # as a task of its own that the transport's end does not reach
                await it.quiet_call(call_tool(session, "status_401", timeout=LIMIT))

        async with client_session(http.target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(call, session)

    expected = deadline("sdk", LIMIT, "http_401") if MAJOR == 1 else by_status(401)
    check(run_watched(program), "status_401", expected)


def test_a_reset_disconnects_the_caller_in_the_sessions_own_task(http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", "TCP reset")
    seen = run_watched(calling(http.target, "reset"))
    check(seen, "reset", CLOSED.of(cause="reset"))
    faults(seen, "reset", 1)
    (end,) = seen.events("session_end")
    assert (end.fields["error_type"], end.fields["cause"]) == ("connection_closed", "reset")


@pytest.mark.parametrize("fault", NO_ANSWER)
def test_an_answer_that_is_none_disconnects_or_is_waited_for(fault: str, http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", NO_ANSWER[fault])
    seen = run_watched(calling(http.target, fault))
    cause = "reset" if fault == "drop" else "stream_ended"
    check(seen, fault, deadline("sdk", LIMIT, cause) if MAJOR == 1 else CLOSED.of(cause=cause))
    faults(seen, cause, 1)


def test_a_session_that_the_server_forgot_has_expired(module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", "session forgotten by the server")
    server = module_servers.http(Fault("forget", tool="echo"))

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.quiet_call(call_tool(session, "echo", timeout=LIMIT))

    seen = run_watched(program)
    check(seen, "echo", by_status(404))
    assert seen.events("session_end")[0].fields["error_type"] == "session_expired"


def test_a_server_that_is_gone_refuses_the_next_call(module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", "connection refused mid-session")
    server = module_servers.http(get_stream=False, json_answers=True)
    running = [server]

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.call(call_tool(session, "echo"))
            running[-1].kill()
            await it.quiet_call(call_tool(session, "echo", timeout=LIMIT))

    async def revived(it: Program) -> None:
        running.append(module_servers.restart(running[-1]))
        await program(it)

    seen = run_watched(revived)
    check(seen, "echo", OK, CLOSED.of(cause="reset", sent=False))


def faults(seen: Capture, cause: str, count: int) -> None:
    """So many of this cause, none of another."""
    assert seen.total("otel_mcp.client.faults", {"otel_mcp.cause": cause}) == count
    assert seen.total("otel_mcp.client.faults") == count
