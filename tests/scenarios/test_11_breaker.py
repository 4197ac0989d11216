"""Kind 11: a breaker that trips falsely or sticks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from harness.observing import Program
from harness.own_host import host
from harness.servers import Servers
from scenarios.watching import Operator, See, Watched, strikes

KIND = "11 breaker trips falsely or sticks"
TableRow = Callable[[str, str], None]


def test_deadlines_of_calls_that_never_left_the_queue_are_told_from_those_of_the_server(
    watched: Watched, servers: Servers, table_row: TableRow, tmp_path: Path
) -> None:
    table_row("scenarios", KIND)
    server, gate = servers.stdio(), tmp_path / "gate"

    async def scenario(program: Program, see: See) -> None:
        breaker = host.Breaker("odoo", threshold=2, cooldown=600.0)
        async with (
            host.Connector("odoo", server.target, breaker=breaker) as odoo,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(program.quiet_call, odoo.call_tool("hold", {"until": str(gate)}))
            await anyio.sleep(0.1)
            for _ in range(2):
                await program.quiet_call(odoo.call_tool("echo", limit=0.1))
            await program.quiet_call(odoo.call_tool("list_items"))
            await see(_open)
            gate.touch()

    seen = watched.run(scenario, again=gate.unlink)
    assert strikes(seen, "odoo") == {"lock_wait": 2}
    (refused,) = seen.calls("list_items")
    assert (refused["outcome"], refused["error_type"], refused["cause"]) == ("rejected", "breaker_open", "breaker_open")
    assert (refused["sent"], refused["attempts"], refused["breaker"]) == (False, 0, "open")
    opened, closed = seen.records("breaker")  # the call that held the lock was well after all
    assert (opened["from"], opened["to"], opened["cause"]) == ("closed", "open", "lock_wait")
    assert (opened["strikes"], opened["cooldown"]) == ({"lock_wait": 2}, 600.0)
    assert (closed["from"], closed["to"]) == ("open", "closed")
    assert set(server.counts()["tools"]) == {"hold"}


def _open(operator: Operator) -> bool:
    return operator.scrape().value("otel_mcp_client_breaker_state", otel_mcp_breaker_state="open") == 1


def test_three_refusals_of_a_tool_are_no_strikes_where_the_host_does_not_count_them(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with host.Connector("odoo", server.target) as odoo:
            for _ in range(3):
                await program.call(odoo.call_tool("reject"))
            await program.call(odoo.call_tool("echo"))

    seen = watched.run(scenario)
    assert [call["outcome"] for call in seen.calls()] == ["tool_error"] * 3 + ["ok"]
    assert strikes(seen, "odoo") == {}
    assert seen.records("breaker") == []


@pytest.mark.parametrize(("trial", "after"), [("hang", "open"), ("echo", "closed")])
def test_the_one_call_that_is_let_through_decides_and_is_seen_as_half_open(
    trial: str, after: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        breaker = host.Breaker("odoo", threshold=1, cooldown=600.0)
        async with host.Connector("odoo", server.target, breaker=breaker) as odoo:
            await program.quiet_call(odoo.call_tool("hang", limit=0.1))
            breaker.cooldown = 0.0  # the pause is over
            await see(_half_open)
            await program.quiet_call(odoo.call_tool(trial, limit=5.0 if trial == "echo" else 0.1))

    seen = watched.run(scenario)
    assert [event["to"] for event in seen.records("breaker")] == ["open", "half_open", after]
    assert seen.calls()[-1]["breaker"] == "half_open"
    assert strikes(seen, "odoo") == {"deadline": 2 if trial == "hang" else 1}


def _half_open(operator: Operator) -> bool:
    return operator.scrape().value("otel_mcp_client_breaker_state", otel_mcp_breaker_state="half_open") == 1
