"""Kind 7: pipes and start-up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import anyio

from harness.observing import Program
from harness.servers import Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import See, Watched, hanging

KIND = "7 pipes and start-up"
TableRow = Callable[[str, str], None]
ENOUGH = 200_000
"""Bytes: several pipe buffers."""


def test_text_on_stdout_is_counted_and_its_words_are_not_kept(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.call(call_tool(session, "noise", {"lines": 3}))

    seen = watched.run(scenario)
    (end,) = seen.records("session_end")
    assert end["noise_lines"] == 3
    assert "DEBUG loading" not in seen.log.read_text()


def test_a_cold_start_is_seen_as_a_handshake_that_waits_and_in_the_connects_duration(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(cold_start=1.0)

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target, initialize=False) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, session.initialize())
            await see(hanging("faulty", phase="wait", method="initialize"))

    seen = watched.run(scenario)
    (connect,) = seen.records("connect")
    assert connect["outcome"] == "ok"
    assert connect["elapsed"] >= 1.0


def test_a_program_that_does_not_exist_is_a_failed_connect(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    target = servers.stdio().target.model_copy(update={"command": "/nowhere/mcp-weather", "args": []})

    async def scenario(program: Program, see: See) -> None:
        with contextlib.suppress(OSError):
            async with client_session(target) as session:
                await program.call(call_tool(session, "echo"))

    seen = watched.run(scenario)
    (connect,) = seen.records("connect")
    assert (connect["connector"], connect["outcome"]) == ("mcp-weather", "error")
    assert connect["error_type"] == "FileNotFoundError"


def test_a_server_that_stops_reading_leaves_calls_in_the_phase_write_and_nothing_sent(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        with anyio.move_on_after(20):
            async with client_session(server.target) as session, anyio.create_task_group() as tasks:
                await session.list_tools()  # or the SDK does it inside the next call, to a server that reads no more
                await program.call(call_tool(session, "stall"))
                tasks.start_soon(program.quiet_call, call_tool(session, "echo", {"text": "x" * ENOUGH}))
                await anyio.sleep(0.05)
                tasks.start_soon(program.quiet_call, call_tool(session, "slow"))
                await see(hanging("faulty", phase="write", tool="slow"))
                tasks.cancel_scope.cancel()

    seen = watched.run(scenario)
    (stuck,) = seen.calls("slow")
    assert (stuck["phase"], stuck["sent"]) == ("write", False)
    (first,) = seen.calls("echo")
    assert first["sent"] is False
