"""Kind 9: authorisation lapses in mid-call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import anyio

from harness.observing import Program
from harness.servers import Fault, Servers
from harness.sessions import call_tool, client_session
from scenarios.watching import See, Watched, hanging

KIND = "9 authorisation lapses"
TableRow = Callable[[str, str], None]


def test_a_401_in_the_middle_is_counted_and_is_the_reason_of_the_next_connect(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(Fault("status", 401, after=1, times=1))

    async def scenario(program: Program, see: See) -> None:
        for _ in range(2):
            try:
                async with client_session(server.target) as session:
                    await program.call(call_tool(session, "echo"))
                    await program.quiet_call(call_tool(session, "echo", timeout=5.0))
            except BaseException as error:  # mcp 1.x lets the 401 out of its transport's task group
                if type(error).__name__ not in {"ExceptionGroup", "BaseExceptionGroup"}:
                    raise

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    refused = seen.calls("echo")[1]
    assert (refused["outcome"], refused["error_type"], refused["cause"]) == ("disconnected", "401", "http_401")
    assert seen.scrape().total("otel_mcp_client_faults_total", otel_mcp_cause="http_401") == 1


def test_a_token_endpoint_that_is_slow_leaves_the_call_in_the_phase_write_and_unsent(
    watched: Watched, servers: Servers, table_row: TableRow
) -> None:
    table_row("scenarios", KIND)
    server = servers.http(require_token=True, token_delay=1.5)

    async def scenario(program: Program, see: See) -> None:
        flow = _Flow(f"{server.base}/token")
        async with (
            _http.AsyncClient(auth=flow, timeout=30) as client,
            client_session(server.target, transport_options={"http_client": client}) as session,
            anyio.create_task_group() as tasks,
        ):
            flow.token = None  # it has lapsed
            tasks.start_soon(program.quiet_call, call_tool(session, "echo"))
            await see(hanging(f"127.0.0.1:{server.port}", phase="write", tool="echo"))

    seen = watched.run(scenario, again=lambda: servers.restart(server))
    (call,) = seen.calls("echo")
    assert (call["outcome"], call["phase"]) == ("ok", "write")


_http: Any = sys.modules.get("httpx2") or sys.modules["httpx"]


class _Flow(_http.Auth):  # type: ignore[misc]
    """An authorisation flow that asks the token endpoint before a request without a token."""

    requires_response_body = True

    def __init__(self, url: str) -> None:
        self.token: str | None = None
        self._url = url

    def auth_flow(self, request: Any) -> Iterator[Any]:
        if self.token is None:
            answer = yield _http.Request("POST", self._url)
            self.token = answer.json()["access_token"]
        request.headers["Authorization"] = f"Bearer {self.token}"
        yield request
