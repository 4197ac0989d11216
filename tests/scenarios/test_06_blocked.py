"""Kind 6: blocked behind something else: the receive loop, the event loop, a lock of the host's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.observing import Program
from harness.own_host import host
from harness.servers import Servers
from harness.sessions import MAJOR, call_tool, client_session
from scenarios.watching import Hanging, See, Watched, hanging

KIND = "6 blocked behind something else"
TableRow = Callable[[str, str], None]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_question_of_the_server_that_nobody_answers_is_named_as_what_holds_the_call(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio() if transport == "stdio" else servers.http()
    name = "faulty" if transport == "stdio" else f"127.0.0.1:{server.target.rpartition(':')[2].partition('/')[0]}"

    async def never(*_: Any, **__: Any) -> Any:
        await anyio.sleep_forever()

    async def scenario(program: Program, see: See) -> None:
        options = {"elicitation_callback": never}
        async with client_session(server.target, **options) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, call_tool(session, "ask", {"method": "elicitation/create"}))
            await see(hanging(name, phase="wait", tool="ask", held_by="elicitation/create"))
            tasks.cancel_scope.cancel()

    watched.run(scenario)


@pytest.mark.skipif(MAJOR != 1, reason="mcp 2.x runs notification handlers beside its receive loop")
def test_a_handler_that_calls_from_inside_the_receive_loop_is_named(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()
    box: list[Any] = []

    async def handler(message: Any) -> None:
        if getattr(getattr(message, "root", None), "method", "") == "notifications/tools/list_changed":
            await box[0].list_tools()  # never answered: the loop that would read the answer is in here

    async def scenario(program: Program, see: See) -> None:
        async with (
            client_session(server.target, message_handler=handler) as session,
            anyio.create_task_group() as tasks,
        ):
            box[:] = [session]
            tasks.start_soon(program.quiet_call, call_tool(session, "notify_then_wait", {"seconds": 0.1}))
            held = "notifications/tools/list_changed"
            await see(hanging("faulty", phase="wait", tool="notify_then_wait", held_by=held))
            tasks.cancel_scope.cancel()

    watched.run(scenario)


def test_an_event_loop_that_does_not_turn_is_reported_with_the_line_it_stands_at(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, call_tool(session, "hang"))
            await anyio.sleep(0.05)
            time.sleep(0.8)  # the fault: somebody's blocking code  # noqa: ASYNC251
            await see(lambda operator: [r for r in operator.records("still_waiting") if r["loop_blocked"]])
            tasks.cancel_scope.cancel()

    seen = watched.run(scenario)
    blocked = next(record for record in seen.records("still_waiting") if record["loop_blocked"])
    assert blocked["blocked_at"].startswith("test_06_blocked.py:")
    assert blocked["blocked_at"].endswith("in scenario")


def test_five_calls_that_a_serial_server_answers_one_by_one_are_all_seen_waiting(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio(serial=True)
    active: list[float] = []

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(program.quiet_call, call_tool(session, "hang"))
            found: Hanging | None = await see(hanging("faulty", phase="wait", tool="hang"))
            if found is not None:
                active.append(found.metrics.total("otel_mcp_client_request_active", mcp_method_name="tools/call"))
            tasks.cancel_scope.cancel()

    watched.run(scenario)
    assert active == [5]


def test_a_lock_that_a_slow_call_holds_is_named_by_those_who_wait_for_it_and_who_die_of_it(
    watched: Watched, servers: Servers, table_row: TableRow, tmp_path: Path
) -> None:
    table_row("scenarios", KIND)
    server, gate = servers.stdio(), tmp_path / "gate"
    waiting: list[float] = []

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target) as odoo, anyio.create_task_group() as tasks:
            tasks.start_soon(program.quiet_call, odoo.call_tool("hold", {"until": str(gate)}))
            await anyio.sleep(0.1)
            for limit in (0.3, None, None):
                tasks.start_soon(program.quiet_call, odoo.call_tool("echo", limit=limit))
            found: Hanging | None = await see(
                hanging("odoo", phase="lock", tool="echo", lock_holder="hold on odoo", limit_source="host")
            )
            if found is not None:
                waiting.append(found.metrics.total("otel_mcp_client_lock_waiting", otel_mcp_connector="odoo"))
            await anyio.sleep(0.3)
            gate.touch()

    seen = watched.run(scenario, again=gate.unlink)
    assert waiting[0] >= 2
    dead, *served = seen.calls("echo")
    assert (dead["outcome"], dead["phase"], dead["cause"]) == ("deadline", "lock", "lock_wait")
    assert (dead["sent"], dead["attempts"]) == (False, 0)
    assert (dead["limit"], dead["limit_source"], dead["lock_holder"]) == (0.3, "host", "hold on odoo")
    assert [(call["outcome"], call["phase"], call["lock_holder"]) for call in served] == [
        ("ok", "lock", "hold on odoo"),
        ("ok", "lock", "hold on odoo"),
    ]
    metrics = seen.scrape()
    cut = {"otel_mcp_phase": "lock", "otel_mcp_limit_source": "host"}
    assert metrics.value("otel_mcp_client_cutoffs_total", otel_mcp_outcome="deadline", **cut) == 1
    assert metrics.value("otel_mcp_client_lock_waiting", otel_mcp_connector="odoo") == 0
    assert metrics.value("otel_mcp_client_lock_wait_duration_seconds_count", otel_mcp_connector="odoo") == 3
