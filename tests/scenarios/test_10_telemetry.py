"""Kind 10: the telemetry itself must not break or mislead."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest

from harness.observing import Program
from harness.real_parts import free_port
from harness.servers import Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import See, Watched

KIND = "10 the telemetry itself"
TableRow = Callable[[str, str], None]


@contextlib.contextmanager
def _collector(kind: str) -> Iterator[str]:
    if kind == "closed":
        yield f"http://127.0.0.1:{free_port()}"
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts, and never answers
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("kind", ["closed", "black hole"])
def test_a_collector_that_is_not_there_costs_the_calls_nothing(
    kind: str, watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            for number in range(20):
                await program.call(call_tool(session, "echo", {"text": str(number)}))
            await program.quiet_call(call_tool(session, "reject"))

    with _collector(kind) as endpoint:
        seen = watched.run(scenario, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_METRIC_EXPORT_INTERVAL="200")
    assert [call["outcome"] for call in seen.calls()] == ["ok"] * 20 + ["tool_error"]
    assert seen.scrape().value("otel_mcp_client_calls_total", otel_mcp_outcome="ok") == 20


def test_invented_tool_names_become_one_label(watched: Watched, servers: Servers, table_row: TableRow) -> None:
    table_row("scenarios", KIND)
    server = servers.stdio()

    async def scenario(program: Program, see: See) -> None:
        async with client_session(server.target) as session:
            for number in range(300):
                await program.quiet_call(call_tool(session, f"invented_{number}"))

    metrics = watched.run(scenario).scrape()
    names = {p.labels["gen_ai_tool_name"] for p in metrics.matching("mcp_client_operation_duration_seconds_count")}
    assert names - {""} == {"_other"}
    assert metrics.total("otel_mcp_labels_folded_total", otel_mcp_label="gen_ai.tool.name") > 0
