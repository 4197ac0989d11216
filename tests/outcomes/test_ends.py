"""Sessions that end beneath an open call: by the server, by us, or before the call was made."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
from collections.abc import Callable
from typing import Any

import anyio
import mcp
import psutil
import pytest

from harness.observing import Program, run, run_watched
from harness.servers import Fault, HttpServer, Servers
from harness.sessions import MAJOR, MINOR, call_tool, client_session, streams
from otel_mcp import testing
from outcomes.expected import CLOSED, OK, ORPHANED, Expected, by_major, check

LIMIT = 0.3
LOSES_WAITERS = MAJOR == 1 and MINOR < 27
"""Its receive loop dies at the first of several open requests when the stream ends; the others are told nothing."""
TableRow = Callable[[str, str], None]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_server_that_closes_its_stdout_disconnects_the_open_call(
    backend: str, module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", "EOF while open")
    server = module_servers.stdio(Fault("close", tool="echo"))

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.quiet_call(call_tool(session, "echo"))

    seen = run_watched(program, backend)
    check(seen, "echo", CLOSED.of(cause="stream_ended"))
    (end,) = seen.events("session_end")
    assert (end.fields["error_type"], end.fields["cause"]) == ("connection_closed", "stream_ended")
    assert seen.total("otel_mcp.client.faults", {"otel_mcp.cause": "stream_ended"}) == 1


def test_a_call_that_is_cancelled_when_its_server_is_dead_already_was_disconnected(
    module_servers: Servers, table_row: TableRow
) -> None:
    # On 1.x it is the transport that cancels, when it fails to write before it has read the end of the output.
    table_row("outcomes", "process exit while open")
    server = module_servers.stdio()

    async def program(it: Program) -> None:
        others = psutil.Process().children()  # of fixtures that this worker keeps for other tests
        async with client_session(server.target) as session:
            await call_tool(session, "echo")
            (process,) = [child for child in psutil.Process().children() if child not in others]
            call = asyncio.ensure_future(it.call(call_tool(session, "hang")))
            await call_tool(session, "echo")
            process.kill()
            # The loop does not run, so nothing is read. A zombie it would be too early: a process of two threads is
            # called one when the first of them has ended, and its pipes close with the last.
            with contextlib.suppress(ChildProcessError):  # on Python 3.10 another thread takes it away
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - blocks it on purpose
            call.cancel()
            await asyncio.wait([call])

    seen = run_watched(program)
    check(seen, "hang", CLOSED.of(cause="process_exit"))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_server_that_exits_disconnects_the_open_call(
    backend: str, module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", "process exit while open")
    server = module_servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.quiet_call(call_tool(session, "die", {"code": 3}))

    seen = run_watched(program, backend)
    check(seen, "die", CLOSED.of(cause="process_exit"))
    (end,) = seen.events("session_end")
    assert (end.fields["cause"], end.fields["exit_code"]) == ("process_exit", 3)
    assert seen.total("otel_mcp.client.faults", {"otel_mcp.cause": "process_exit"}) == 1
    assert seen.metric("mcp.client.session.duration", {"error.type": "connection_closed"})[0].count == 1


def test_several_calls_open_at_the_end_of_the_stream_each_get_their_record(
    module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", "several pending at EOF")
    server = module_servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(it.quiet_call, call_tool(session, "hang", timeout=1.5))
            await anyio.sleep(LIMIT)
            tasks.start_soon(it.quiet_call, call_tool(session, "die", timeout=1.5))

    seen = run_watched(program)
    lost = CLOSED.of(cause="process_exit")
    if LOSES_WAITERS:
        check(seen, "hang", lost, ORPHANED, ORPHANED)
        check(seen, "die", ORPHANED)
    else:
        check(seen, "hang", lost, lost, lost)
        check(seen, "die", lost)


def test_a_call_on_a_session_that_was_left_is_rejected(module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", "call on a closed session")
    server = module_servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.call(call_tool(session, "echo"))
        await it.quiet_call(call_tool(session, "echo"))

    rejected = Expected(
        "rejected",
        "not_connected",
        sent=False,
        attempt=Expected("disconnected", "connection_closed", sent=False),
    )
    check(run_watched(program), "echo", OK, rejected)


def test_a_call_on_a_session_whose_server_is_gone_is_rejected(module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", "call after the server's end")
    server = module_servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.quiet_call(call_tool(session, "die"))
            await it.quiet_call(call_tool(session, "echo"))

    seen = run_watched(program)
    (call,) = [call for call in seen.calls if call.tool == "echo"]
    assert (call.outcome, call.error_type, call.sent) == ("rejected", "not_connected", False)


def test_a_session_that_we_close_orphans_its_call_where_the_sdk_tells_nobody(
    module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", "session closed by us with a request open")
    server = module_servers.stdio()
    states = []

    async def program(it: Program) -> None:
        async with anyio.create_task_group() as tasks:
            async with client_session(server.target) as session:
                tasks.start_soon(it.quiet_call, call_tool(session, "hang", timeout=1.5))
                await anyio.sleep(LIMIT)
            states.append(seen_now())

    def seen_now() -> Any:
        import otel_mcp

        return otel_mcp.statistics()

    seen = run_watched(program)
    check(seen, "hang", by_major(ORPHANED, CLOSED))
    attempt = next(span for span in seen.spans if span.name.startswith("tools/call"))
    assert attempt.attributes["otel_mcp.session.age"] >= 0
    if MAJOR == 1:
        assert states[1].open_calls == 1, "its caller still waits"
        assert seen.calls[0].elapsed > 1.0, "until its own limit released it"


def test_a_program_that_cannot_be_found_is_a_failed_connect(table_row: TableRow) -> None:
    table_row("outcomes", "no such program")

    async def program(it: Program) -> None:
        target = mcp.StdioServerParameters(command="/nowhere/weather-server", args=["--verbose"])
        async with streams(target):
            pass

    seen = run_watched(program)
    (connect,) = seen.events("connect")
    assert connect.connector == "weather-server"
    assert (connect.fields["outcome"], connect.fields["error_type"]) == ("error", "FileNotFoundError")
    assert seen.calls == ()
    assert seen.total("otel_mcp.client.connect.duration") == 1
    failed = {"otel_mcp.connector": "weather-server", "otel_mcp.state": "failed"}
    assert seen.total("otel_mcp.client.connector.state", failed) == 1


def test_a_server_that_exits_at_its_start_is_a_failed_connect(module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", "exit 127 at start")
    server = module_servers.stdio(exit_at_start=127)

    async def program(it: Program) -> None:
        async with client_session(server.target, initialize=False) as session:
            await it.quiet_call(session.initialize())

    seen = run_watched(program)
    (connect,) = seen.events("connect")
    assert (connect.fields["outcome"], connect.fields["cause"]) == ("disconnected", "process_exit")
    assert connect.fields["exit_code"] in (None, 127), "the system may not have reaped it yet"
    assert seen.events("session_end")[0].fields["exit_code"] == 127
    assert seen.calls == ()


def test_a_server_that_nobody_runs_is_a_failed_connect(http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", "connection refused")

    async def program(it: Program) -> None:
        async with client_session("http://127.0.0.1:9/mcp", initialize=False, read_timeout=1.0) as session:
            await it.quiet_call(session.initialize())

    seen = run_watched(program)
    (connect,) = seen.events("connect")
    assert connect.fields["outcome"] in ("disconnected", "deadline")
    assert connect.fields["cause"] == "reset"
    assert connect.connector == "127.0.0.1:9"


def test_a_coroutine_that_is_closed_from_another_context_is_given_up(http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", "coroutine closed elsewhere")

    async def program(it: Program) -> None:
        async with client_session(http.target) as session:
            pending = call_tool(session, "hang")
            context = contextvars.copy_context()
            while context.run(pending.send, None) is None:  # noqa: ASYNC110 - driven by hand until it waits for something
                await asyncio.sleep(0.01)
            with contextlib.suppress(ValueError):  # 2.x itself sets a variable back in the wrong context
                pending.close()
            await it.call(call_tool(session, "echo"))

    with testing.capture() as seen:  # without us 2.x logs "Failed to detach context" here
        run(program)
    (call,) = [call for call in seen.calls if call.tool == "hang"]
    (span,) = [span for span in seen.spans if span.attributes.get("gen_ai.tool.name") == "hang"]
    # 2.x turns the end of the coroutine into a ValueError of its own, and that is what its caller gets.
    outcome = "cancelled" if MAJOR == 1 else "error"
    assert (call.outcome, call.attempts) == (outcome, 1)
    assert (span.status, span.attributes["otel_mcp.outcome"]) == ("UNSET" if MAJOR == 1 else "ERROR", outcome)
    assert seen.statistics().open_requests == 0


def test_an_abandoned_generator_ends_its_call(http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", "generator abandoned")

    async def program(it: Program) -> None:
        async def answers(session: Any) -> Any:
            yield "first"
            try:
                yield await call_tool(session, "echo", {"text": "second"})
            finally:
                it.saw.append("closed")

        async with client_session(http.target) as session:
            async for _ in answers(session):
                break
            stopped = answers(session)
            await stopped.__anext__()
            await stopped.__anext__()
            await stopped.aclose()
            del stopped
            gc.collect()
            await asyncio.sleep(0)

    check(run_watched(program), "echo", OK)


def test_a_session_that_nobody_leaves_ends_when_it_is_gone() -> None:
    from mcp.shared.memory import create_client_server_memory_streams as pair

    async def half_open(client: Any) -> None:
        session = mcp.ClientSession(*client)
        with contextlib.suppress(Exception), anyio.move_on_after(LIMIT):
            await session.initialize()  # 1.x lets it be sent, 2.x refuses; nobody has entered the session

    async def program(it: Program) -> None:
        async with pair() as (client, _):
            await asyncio.create_task(half_open(client))  # of its own, so that no traceback keeps the session alive
            gc.collect()

    with testing.capture() as seen:
        run(program)
    assert [event.name for event in seen.events()] == ["connect", "session_end"]
    statistics = seen.statistics()
    assert (statistics.open_requests, statistics.connectors["unknown"].state) == (0, "failed")


def test_the_program_alone_sees_what_the_tests_compare_with(http: HttpServer) -> None:
    async def program(it: Program) -> None:
        async with client_session(http.target) as session:
            await it.quiet_call(call_tool(session, "rpc_error", {"code": 5, "message": "five"}))

    (saw,) = run(program)
    assert saw[0].lower() == "mcp.shared.exceptions.mcperror"
    assert "five" in saw[1]
