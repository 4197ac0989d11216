"""`Connector` against a real server process on stdio, on both backends, in real time.

Nothing here waits for a length of time: order is proven by what arrived at the server, unknown waits are bounded.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from otel_mcp.resilience import (
    CallResult,
    Connector,
    Outcome,
    ReconnectedDuringCall,
    ReconnectPolicy,
    RetryPolicy,
)

from .server import StdioServer, alive, children, reaches

pytestmark = pytest.mark.anyio

FAST = ReconnectPolicy(base=0.01, cap=0.05)
EAGER = RetryPolicy(base=0.01, quiet_time=0.01)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(tmp_path: Path) -> Callable[..., StdioServer]:
    return lambda *flags: StdioServer(tmp_path, *flags)


@asynccontextmanager
async def connected(server: StdioServer, **options: Any) -> AsyncIterator[Connector]:
    settings: dict[str, Any] = {"deadline": 20.0, "reconnect": FAST, "policy": EAGER, "keepalive_interval": None}
    with anyio.fail_after(40):
        async with Connector("files", server.parameters(), **(settings | options)) as connector:
            assert await connector.wait_ready(20)
            yield connector


async def in_background(group: Any, call: Callable[[], Any], results: list[CallResult]) -> None:
    async def run() -> None:
        results.append(await call())

    group.start_soon(run)


@pytest.mark.promise("connector-calls")
async def test_every_kind_of_request_goes_to_the_server_and_back(server: Callable[..., StdioServer]) -> None:
    async with connected(server()) as connector:
        tool = await connector.call_tool("echo", {"x": 1})
        resource = await connector.read_resource("file:///rows")
        prompt = await connector.get_prompt("greeting")
        listed = await connector.list_tools()

    assert [r.outcome for r in (tool, resource, prompt, listed)] == [Outcome.OK] * 4
    assert len(listed.value.tools) == 6, "both pages"
    assert (tool.sent, tool.attempts, tool.breaker) == (True, 1, "closed")


@pytest.mark.promise("own-words-survive")
async def test_the_servers_own_words_reach_the_caller(server: Callable[..., StdioServer]) -> None:
    async with connected(server()) as connector:
        refused = await connector.call_tool("refuse")
        unknown = await connector.call_tool("unknown")

    assert (refused.outcome, refused.detail) == (Outcome.TOOL_ERROR, "use search_count instead")
    assert (unknown.outcome, unknown.error_type) == (Outcome.ERROR, "-32602")
    assert "no such tool: unknown" in unknown.detail


@pytest.mark.promise("answers-reset")
async def test_rejected_arguments_and_tool_errors_leave_the_breaker_closed(server: Callable[..., StdioServer]) -> None:
    async with connected(server()) as connector:
        for _ in range(4):
            await connector.call_tool("refuse")
            await connector.call_tool("unknown")

        assert (await connector.call_tool("echo")).outcome is Outcome.OK
        assert connector.breaker.state == "closed"


@pytest.mark.promise("teardown-tells", "no-write-twice")
async def test_a_server_that_dies_inside_a_call_ends_the_call_at_once(server: Callable[..., StdioServer]) -> None:
    fault = server()
    async with connected(fault, deadline=30.0) as connector:
        result = await connector.call_tool("die")
        again = await connector.call_tool("echo")

    assert (result.outcome, result.sent, result.cause) == (Outcome.DISCONNECTED, True, "stream_ended")
    assert isinstance(result.error, ReconnectedDuringCall)
    assert again.outcome is Outcome.OK
    assert fault.count("tools/call", "die") == 1
    assert len(fault.processes()) == 2


@pytest.mark.promise("no-write-twice")
async def test_a_write_whose_answer_was_lost_is_not_sent_again(server: Callable[..., StdioServer]) -> None:
    fault = server("--drop-after", "1")
    async with connected(fault) as connector:
        result = await connector.call_tool("write")

        assert (result.outcome, result.attempts) == (Outcome.DISCONNECTED, 1)
    assert fault.count("committed") == 1


@pytest.mark.promise("no-write-twice", "hint-is-advice")
async def test_the_servers_own_idempotent_hint_does_not_allow_a_second_write(
    server: Callable[..., StdioServer],
) -> None:
    fault = server("--drop-after", "1")
    async with connected(fault) as connector:
        await connector.list_tools()
        result = await connector.call_tool("write")

        assert result.attempts == 1
    assert fault.count("committed") == 1


@pytest.mark.promise("read-only-hint")
async def test_a_tool_that_is_read_only_by_the_servers_word_is_retried(server: Callable[..., StdioServer]) -> None:
    fault = server("--drop-after", "2")
    async with connected(fault) as connector:
        await connector.list_tools()
        await connector.call_tool("echo")
        result = await connector.call_tool("echo")

    assert (result.outcome, result.attempts) == (Outcome.OK, 2)


@pytest.mark.promise("idempotency-key")
async def test_an_idempotency_key_allows_a_retry_and_travels_with_each_attempt(
    server: Callable[..., StdioServer],
) -> None:
    fault = server("--drop-after", "2")
    async with connected(fault) as connector:
        await connector.call_tool("echo")
        result = await connector.call_tool("write", idempotency_key="order-7")

    assert (result.outcome, result.attempts) == (Outcome.OK, 2)
    keys = [line["meta"] for line in fault.seen() if line.get("tool") == "write" and line["method"] == "tools/call"]
    assert keys == [{"otel-mcp/idempotency-key": "order-7"}] * 2


@pytest.mark.promise("teardown-tells", "all-requests-tracked")
@pytest.mark.parametrize("kind", ["tool", "resource", "prompt"])
async def test_a_reconnect_ends_every_kind_of_open_request_with_a_retryable_error(
    server: Callable[..., StdioServer], kind: str
) -> None:
    fault = server("--parallel")
    ask: dict[str, tuple[str, Callable[[Connector], Any]]] = {
        "tool": ("tools/call", lambda c: c.call_tool("hang")),
        "resource": ("resources/read", lambda c: c.read_resource("file:///hang")),
        "prompt": ("prompts/get", lambda c: c.get_prompt("hang")),
    }
    method, call = ask[kind]
    results: list[CallResult] = []
    async with connected(fault, policy=RetryPolicy(max_attempts=1)) as connector, anyio.create_task_group() as group:
        await in_background(group, lambda: call(connector), results)
        await fault.has_seen(method)
        assert await connector.reconnect()

    assert [(r.outcome, r.cause, r.sent) for r in results] == [(Outcome.DISCONNECTED, "reconnect", True)]
    assert isinstance(results[0].error, ReconnectedDuringCall)
    assert results[0].error.retryable


@pytest.mark.promise("teardown-tells", "close-is-clean")
async def test_closing_ends_open_calls_and_says_why(server: Callable[..., StdioServer]) -> None:
    fault = server("--parallel")
    results: list[CallResult] = []
    async with anyio.create_task_group() as group, connected(fault) as connector:
        await in_background(group, lambda: connector.call_tool("hang"), results)
        await fault.has_seen("tools/call", "hang")

    assert [(r.outcome, r.cause) for r in results] == [(Outcome.DISCONNECTED, "shutdown")]


@pytest.mark.promise("teardown-is-not-cancel", "caller-cancel-passes")
async def test_a_callers_cancellation_stays_one_and_frees_the_lock(server: Callable[..., StdioServer]) -> None:
    fault = server("--parallel")
    results: list[CallResult] = []
    async with connected(fault) as connector:
        async with anyio.create_task_group() as group:
            await in_background(group, lambda: connector.call_tool("hang"), results)
            await fault.has_seen("tools/call", "hang")
            group.cancel_scope.cancel()
        after = await connector.call_tool("echo")

    assert results == []
    assert after.outcome is Outcome.OK
    assert connector.statistics().generation == 1


@pytest.mark.promise("lock-and-keepalive")
async def test_a_probe_waits_for_nobody_it_skips_while_a_call_is_open(server: Callable[..., StdioServer]) -> None:
    fault = server()
    results: list[CallResult] = []
    async with connected(fault, keepalive_interval=0.02) as connector, anyio.create_task_group() as group:
        await in_background(group, lambda: connector.call_tool("sleep", {"seconds": 0.5}), results)
        await fault.has_seen("tools/call", "sleep")
        pings = fault.count("ping")
        await fault.has_seen("done")
        skipped = connector.statistics().keepalive.skipped
        during = fault.count("ping") - pings

    assert results[0].outcome is Outcome.OK
    assert skipped > 0
    assert during <= 1, "one ping may be read after the call is done and before we look"
    assert connector.statistics().generation == 1


@pytest.mark.promise("lock-and-keepalive")
async def test_a_call_that_comes_during_a_probe_waits_for_the_lock_and_then_runs(
    server: Callable[..., StdioServer],
) -> None:
    fault = server("--ping", "never")
    async with connected(fault, keepalive_interval=0.02, keepalive_timeout=0.5) as connector:
        await fault.has_seen("ping")
        result = await connector.call_tool("echo")

    assert result.outcome is Outcome.OK
    assert result.lock_wait > 0
    order = [line["method"] for line in fault.seen() if line["method"] in ("ping", "tools/call")]
    assert order[0] == "ping"


@pytest.mark.promise("keepalive-finds-dead")
async def test_a_ping_that_is_never_answered_renews_the_session(server: Callable[..., StdioServer]) -> None:
    fault = server("--ping", "never")
    async with connected(fault, keepalive_interval=0.02, keepalive_timeout=0.05) as connector:
        await fault.has_seen("start", times=2)
        assert connector.statistics().connects["keepalive"] >= 1


@pytest.mark.promise("ping-error-is-alive")
async def test_a_ping_answered_by_an_error_means_alive(server: Callable[..., StdioServer]) -> None:
    fault = server("--ping", "error")
    async with connected(fault, keepalive_interval=0.01) as connector:
        await fault.has_seen("ping", times=5)

        assert connector.statistics().generation == 1
        assert connector.statistics().keepalive.method == "ping"


@pytest.mark.promise("ping-falls-back")
async def test_a_server_without_ping_is_probed_by_tools_list_from_then_on(server: Callable[..., StdioServer]) -> None:
    fault = server("--ping", "unknown")
    async with connected(fault, keepalive_interval=0.01) as connector:
        await fault.has_seen("tools/list", times=3)

        assert fault.count("ping") == 1
        assert connector.statistics().keepalive.method == "tools/list"
        assert connector.statistics().generation == 1


@pytest.mark.promise("reconnect-storm-ends")
async def test_a_server_that_exits_right_after_the_handshake_parks_after_its_budget(
    server: Callable[..., StdioServer],
) -> None:
    fault = server("--exit-after-handshake")
    with anyio.fail_after(40):
        async with Connector("files", fault.parameters(), deadline=20.0, reconnect=FAST) as connector:
            await reaches(lambda: connector.state == "parked")
            result = await connector.call_tool("echo")

    assert len(fault.processes()) == 6, "the first and five more"
    assert (result.outcome, result.error_type, result.sent, result.attempts) == (
        Outcome.REJECTED,
        "not_connected",
        False,
        0,
    )


@pytest.mark.promise("health-restores-budget")
async def test_six_drops_with_answers_between_do_not_park(server: Callable[..., StdioServer]) -> None:
    fault = server("--drop-after", "2")
    async with connected(fault) as connector:
        for _ in range(7):
            assert (await connector.call_tool("echo")).outcome is Outcome.OK
            assert (await connector.call_tool("echo")).outcome is Outcome.DISCONNECTED

        assert (await connector.call_tool("echo")).outcome is Outcome.OK
        assert connector.statistics().reconnects_left == 5
    assert len(fault.processes()) == 8


@pytest.mark.promise("start-costs-only-its-calls")
async def test_a_server_that_never_answers_the_handshake_costs_the_call_its_deadline(
    server: Callable[..., StdioServer],
) -> None:
    fault = server("--no-handshake")
    with anyio.fail_after(40):
        async with Connector("files", fault.parameters(), deadline=0.3, connect_timeout=20.0) as connector:
            result = await connector.call_tool("echo")

    assert (result.outcome, result.phase, result.sent) == (Outcome.DEADLINE, "connect", False)
    assert not any(alive(pid) for pid in fault.processes())


@pytest.mark.promise("quiet-after-cutoff")
async def test_a_late_answer_lets_the_next_call_through_before_the_quiet_time_is_over(
    server: Callable[..., StdioServer],
) -> None:
    fault = server()
    async with connected(fault, policy=RetryPolicy(quiet_time=1000)) as connector:
        cut = await connector.call_tool("sleep", {"seconds": 0.4}, deadline=0.1)
        after = await connector.call_tool("echo", deadline=30)

    assert (cut.outcome, cut.sent, cut.phase) == (Outcome.DEADLINE, True, "wait")
    assert after.outcome is Outcome.OK
    order = [line.get("tool") or line["method"] for line in fault.seen() if line["method"] in ("done", "tools/call")]
    assert order.index("echo") > order.index("sleep") + 1, "echo was sent only after sleep was done"


@pytest.mark.promise("quiet-after-cutoff")
async def test_a_renewed_session_lets_the_next_call_through_at_once(server: Callable[..., StdioServer]) -> None:
    fault = server()
    async with connected(fault, policy=RetryPolicy(quiet_time=1000)) as connector:
        await connector.call_tool("hang", deadline=0.1)
        assert await connector.reconnect()
        after = await connector.call_tool("echo", deadline=20)

    assert after.outcome is Outcome.OK


@pytest.mark.promise("cut-off-is-announced")
async def test_the_server_is_told_that_nobody_waits_any_more(server: Callable[..., StdioServer]) -> None:
    fault = server()
    async with connected(fault) as connector:
        await connector.call_tool("hang", deadline=0.1)
        await fault.has_seen("notifications/cancelled")

    assert fault.count("notifications/cancelled") == 1


@pytest.mark.promise("close-is-clean")
async def test_closing_leaves_no_process_and_no_task(server: Callable[..., StdioServer], anyio_backend: str) -> None:
    fault = server("--parallel")
    before = children()
    tasks = _tasks(anyio_backend)
    async with connected(fault, keepalive_interval=0.01) as connector:
        await connector.call_tool("hang", deadline=0.05)
        await connector.call_tool("die")
        assert (await connector.call_tool("echo")).outcome is Outcome.OK
    await anyio.wait_all_tasks_blocked()

    assert not any(alive(pid) for pid in fault.processes())
    assert children() == before
    assert _tasks(anyio_backend) == tasks
    assert connector.statistics().lock_waiting == 0
    assert connector.state == "closed"


@pytest.mark.promise("close-is-clean")
async def test_a_cancelled_host_leaves_no_process_behind(server: Callable[..., StdioServer]) -> None:
    fault = server("--parallel")
    async with anyio.create_task_group() as group:

        async def host() -> None:
            async with Connector("files", fault.parameters(), deadline=20.0) as connector:
                await connector.call_tool("hang")

        group.start_soon(host)
        await fault.has_seen("tools/call", "hang")
        group.cancel_scope.cancel()

    assert fault.processes()
    assert not any(alive(pid) for pid in fault.processes())


@pytest.mark.promise("connector-calls")
async def test_a_call_after_closing_is_rejected(server: Callable[..., StdioServer]) -> None:
    async with connected(server()) as connector:
        pass
    result = await connector.call_tool("echo")

    assert (result.outcome, result.detail) == (
        Outcome.REJECTED,
        "NotConnected: connector 'files' is closed; nothing was sent",
    )


@pytest.mark.promise("no-opentelemetry-needed")
def test_no_opentelemetry_module_is_loaded_by_using_it() -> None:
    program = (
        "import sys, anyio\n"
        "from otel_mcp.resilience import call_with_deadline\n"
        "print(anyio.run(call_with_deadline, lambda: anyio.sleep(0), 5).outcome)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('opentelemetry', 'mcp')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines() == ["ok", "[]"]


def _tasks(backend: str) -> int:
    if backend == "asyncio":
        import asyncio

        return len(asyncio.all_tasks())
    import trio

    return trio.lowlevel.current_statistics().tasks_living
