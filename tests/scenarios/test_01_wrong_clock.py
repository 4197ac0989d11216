"""Kind 1: a cap that is too short, a setting that does not reach the clock that fires."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from harness.observing import Program
from harness.servers import Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import Operator, See, Watched

KIND = "1 the wrong clock"


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_limit_that_is_too_short_is_named_and_the_late_answer_says_by_how_much(
    transport: str, watched: Watched, servers: Servers, table_row: Callable[[str, str], None]
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio() if transport == "stdio" else servers.http()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.quiet_call(call_tool(session, "late", {"seconds": 0.9}, timeout=0.5))
            await see(lambda operator: operator.records("late_response"))

    seen = watched.run(scenario)
    (call,) = seen.calls("late")
    assert (call["outcome"], call["limit"], call["limit_source"]) == ("deadline", 0.5, "sdk")
    assert call["elapsed"] >= 0.5
    (late,) = seen.records("late_response")
    assert late["id"] == call["id"]
    assert late["delay"] > 0
    name = call["connector"]
    assert seen.scrape().total("otel_mcp_client_late_response_delay_seconds_count", otel_mcp_connector=name) == 1
    assert seen.scrape().total(
        "otel_mcp_client_cutoffs_total", otel_mcp_connector=name, otel_mcp_limit_source="sdk", otel_mcp_phase="wait"
    )


def test_an_sdk_limit_beneath_a_wider_one_is_shown_with_both(
    watched: Watched, servers: Servers, table_row: Callable[[str, str], None]
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            with anyio.fail_after(30):
                await program.quiet_call(call_tool(session, "hang", timeout=0.2))

    (call,) = watched.run(scenario).calls("hang")
    assert (call["outcome"], call["limit_source"], call["limit"]) == ("deadline", "sdk", 0.2)
    assert call["limits"]["sdk"] == 0.2
    assert call["limits"]["caller"] == pytest.approx(30, abs=1)


def test_the_gauge_of_the_limit_in_force_follows_the_last_call(
    watched: Watched, servers: Servers, table_row: Callable[[str, str], None]
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()
    limits: list[float | None] = []

    def look(operator: Operator) -> bool:
        limits.append(operator.scrape().value("otel_mcp_client_limit_seconds", otel_mcp_connector="faulty"))
        return True

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            await program.call(call_tool(session, "echo", timeout=5.0))
            await see(look)
            await program.call(call_tool(session, "echo"))
            await see(look)

    watched.run(scenario)
    assert limits == [5.0, 0.0]
