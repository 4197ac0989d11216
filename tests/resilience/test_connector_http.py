"""`Connector` against a real loopback HTTP server, on both backends, in real time."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from otel_mcp.resilience import Connector, Outcome, ReconnectPolicy, RetryPolicy

from .server import SERVERS, reaches

pytestmark = pytest.mark.anyio

FAST = ReconnectPolicy(base=0.01, cap=0.05)
EAGER = RetryPolicy(base=0.01, quiet_time=0.01)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def flags() -> list[str]:
    return []


@pytest.fixture
def port(flags: list[str]) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, str(SERVERS / "resilience_http.py"), *flags], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def seen(port: int, method: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ledger", timeout=10) as answer:
        return [line for line in json.load(answer) if line["method"] == method]


def connector(port: int, **options: Any) -> Connector:
    settings: dict[str, Any] = {"deadline": 20.0, "reconnect": FAST, "policy": EAGER, "keepalive_interval": None}
    return Connector("search", f"http://127.0.0.1:{port}/mcp", **(settings | options))


@pytest.mark.promise("connector-calls")
async def test_a_call_over_http_is_answered_and_a_cut_off_one_is_a_deadline(port: int) -> None:
    with anyio.fail_after(40):
        async with connector(port) as search:
            answered = await search.call_tool("echo")
            cut = await search.call_tool("hang", deadline=0.2)
            after = await search.call_tool("echo")

    assert [r.outcome for r in (answered, cut, after)] == [Outcome.OK, Outcome.DEADLINE, Outcome.OK]
    assert cut.sent


@pytest.mark.promise("session-expired")
@pytest.mark.parametrize("flags", [["--forget-after", "2"]])
async def test_a_forgotten_session_is_renewed_and_a_retry_runs_on_the_new_one(port: int) -> None:
    with anyio.fail_after(40):
        async with connector(port) as search:
            for _ in range(2):
                await search.call_tool("echo")
            expired = await search.call_tool("echo")
            for _ in range(2):
                await search.call_tool("echo")
            retried = await search.call_tool("echo", idempotent=True)
            connects = search.statistics().connects

    assert (expired.outcome, expired.error_type, expired.cause) == (
        Outcome.DISCONNECTED,
        "session_expired",
        "http_404",
    )
    assert (retried.outcome, retried.attempts) == (Outcome.OK, 2)
    assert connects == {"initial": 1, "session_expired": 2}
    assert len({line["session"] for line in seen(port, "tools/call")}) == 3


@pytest.mark.promise("http-status-is-the-cause", "strikes-are-a-setting")
@pytest.mark.parametrize(
    ("code", "cause", "strike"),
    [(401, "http_401", "auth"), (429, "http_429", "rate_limit"), (503, "http_5xx", "transport")],
)
async def test_an_http_status_is_the_cause_and_decides_the_strike(
    port: int, code: int, cause: str, strike: str
) -> None:
    with anyio.fail_after(40):
        async with connector(port) as search:
            result = await search.call_tool("status", {"code": code})
            after = await search.call_tool("echo")
            statistics = search.breaker.statistics()

    assert (result.outcome, result.error_type, result.cause) == (Outcome.DISCONNECTED, str(code), cause)
    assert after.outcome is Outcome.OK
    assert statistics.ignored == ({} if strike == "transport" else {strike: 1})


@pytest.mark.promise("teardown-tells")
async def test_a_reset_connection_ends_the_call_at_once_and_the_next_one_works(port: int) -> None:
    with anyio.fail_after(40):
        async with connector(port, deadline=30.0) as search:
            result = await search.call_tool("reset")
            after = await search.call_tool("echo")

    assert (result.outcome, result.error_type) == (Outcome.DISCONNECTED, "connection_closed")
    assert after.outcome is Outcome.OK


@pytest.mark.promise("parked-rejects")
async def test_an_address_where_nobody_listens_parks_and_calls_are_rejected_at_once(port: int) -> None:
    nobody = Connector("gone", "http://127.0.0.1:9/mcp", deadline=20.0, reconnect=FAST)
    with anyio.fail_after(40):
        async with nobody:
            await reaches(lambda: nobody.state == "parked")
            result = await nobody.call_tool("echo")

    assert (result.outcome, result.attempts) == (Outcome.REJECTED, 0)
    assert "parked after" in result.detail


@pytest.mark.promise("revisions-without-ping")
@pytest.mark.parametrize("flags", [["--modern"]])
async def test_a_server_of_a_revision_without_ping_is_probed_by_tools_list(port: int) -> None:
    import mcp

    if not hasattr(mcp, "MCPError"):
        with anyio.fail_after(40):
            async with connector(port) as search:
                assert not await search.wait_ready(1.0), "mcp 1.x does not speak that revision"
        return
    with anyio.fail_after(40):
        async with connector(port, keepalive_interval=0.02) as search:
            result = await search.call_tool("echo")
            await reaches(lambda: search.statistics().keepalive.answered >= 3)

    assert result.outcome is Outcome.OK
    assert seen(port, "ping") == []
