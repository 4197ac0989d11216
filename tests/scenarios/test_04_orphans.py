"""Kind 4: transport or server ended, and the waiter was not told, or was told something else."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from harness.observing import Program
from harness.servers import Fault, Servers
from harness.sessions import MAJOR, call_tool, client_session
from harness.waiting import await_for
from scenarios.watching import See, Watched

KIND = "4 orphaned call"
TableRow = Callable[[str, str], None]


def test_a_server_that_dies_inside_a_call_ends_it_with_its_exit_code_on_record(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.quiet_call(call_tool(session, "die", {"code": 9}))
            await program.quiet_call(call_tool(session, "echo"))

    seen = watched.run(scenario)
    (died,), (after,) = seen.calls("die"), seen.calls("echo")
    assert (died["outcome"], died["error_type"], died["cause"]) == ("disconnected", "connection_closed", "process_exit")
    assert (after["outcome"], after["error_type"], after["sent"]) == ("rejected", "not_connected", False)
    (end,) = seen.records("session_end")
    assert (end["exit_code"], end["cause"]) == (9, "process_exit")
    faults = seen.scrape().total("otel_mcp_client_faults_total", otel_mcp_cause="process_exit")
    assert faults == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_call_beneath_which_the_session_is_closed_is_reported_at_that_moment(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio() if transport == "stdio" else servers.http()

    async def scenario(program: Program, see: See) -> None:
        before = server.asked("hang")
        async with anyio.create_task_group() as tasks:
            async with client_session(server.target) as session:
                tasks.start_soon(program.quiet_call, call_tool(session, "hang"))
                # Or it may be waiting for the transport to take it, and mcp 2.x tells it of the end in another way.
                await await_for(lambda: server.asked("hang") > before)
            if MAJOR == 1:
                # Nobody told the caller: mcp 1.x leaves it waiting.
                await see(lambda operator: [r for r in operator.records("still_waiting") if r["retired"]])
                tasks.cancel_scope.cancel()

    # With so long a threshold only the report at the teardown itself can come.
    seen = watched.run(scenario, OTEL_MCP_STILL_WAITING="3600")
    (call,) = seen.calls("hang")
    if MAJOR == 1:
        assert (call["outcome"], call["error_type"], call["attempt_outcomes"]) == ("orphaned", "orphaned", ["orphaned"])
    else:
        assert (call["outcome"], call["error_type"]) == ("disconnected", "connection_closed")


@pytest.mark.parametrize("status", [403, 500])
def test_a_status_that_the_sdk_hides_is_the_cause_whatever_the_caller_gets(
    status: int, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("status", status, after=1))
    cause = "http_403" if status == 403 else "http_5xx"

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.call(call_tool(session, "echo"))
            await program.quiet_call(call_tool(session, "echo", timeout=5.0))

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    _, call = seen.calls("echo")
    assert (call["outcome"], call["error_type"], call["cause"]) == ("disconnected", str(status), cause)
    (fault,) = seen.records("fault")
    assert (fault["cause"], fault["status"], fault["id"]) == (cause, status, call["id"])


@pytest.mark.skipif(MAJOR != 1, reason="only mcp 1.x leaves callers in other tasks to their limit")
def test_a_caller_in_another_task_waits_for_its_limit_with_the_status_as_the_cause(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("status", 403, after=1))

    async def scenario(program: Program, see: See) -> None:
        done = anyio.Event()

        async with anyio.create_task_group() as tasks:
            opened, session_box = anyio.Event(), []

            async def own() -> None:
                async with client_session(server.target) as session:
                    session_box.append(session)
                    opened.set()
                    await done.wait()

            async def owner() -> None:
                # The transport's task group dies with the 403; the session's owner is cancelled by it.
                try:
                    await own()
                except BaseException as error:
                    if type(error).__name__ not in {"ExceptionGroup", "BaseExceptionGroup"}:
                        raise

            tasks.start_soon(owner)
            await opened.wait()
            await program.call(call_tool(session_box[0], "echo"))
            await program.quiet_call(call_tool(session_box[0], "echo", timeout=0.5))
            done.set()

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    _, call = seen.calls("echo")
    assert call["cause"] == "http_403"
    assert call["outcome"] in {"deadline", "orphaned"}
