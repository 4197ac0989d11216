"""Kind 8: a limit of the caller told from a user's cancel; the whole table is in `tests/outcomes`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from harness.observing import Program
from harness.servers import Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import See, Watched

KIND = "8 cancellation gone wrong"
TableRow = Callable[[str, str], None]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_limit_and_a_cancel_of_the_caller_are_told_apart(
    transport: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio() if transport == "stdio" else servers.http()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(program.call(call_tool(session, "hang")), 0.2)
            task = asyncio.ensure_future(program.call(call_tool(session, "hang")))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    seen = watched.run(scenario)
    cut, cancelled = seen.calls("hang")
    assert (cut["outcome"], cut["limit_source"], cut["limit"]) == ("deadline", "caller", 0.2)
    assert (cancelled["outcome"], cancelled["error_type"]) == ("cancelled", "cancelled")
    counts = {
        point.labels["otel_mcp_outcome"]: point.value
        for point in seen.scrape().matching("otel_mcp_client_calls_total")
        if point.value
    }
    assert counts == {"deadline": 1, "cancelled": 1}
