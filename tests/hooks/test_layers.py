"""What a layer above the SDK tells with `otel_mcp.hooks`: limits of its own, locks outside calls, strikes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import anyio
import pytest

from harness.servers import Fault, Servers
from harness.sessions import McpError, call_tool, client_session
from harness.waiting import await_for
from otel_mcp import hooks, testing
from otel_mcp._ground import guard
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Call
from otel_mcp._observe.watcher import Watcher
from otel_mcp._reports.strikes import strike_cause

pytestmark = pytest.mark.anyio
OPEN = {"mcp.method.name": "tools/call"}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[testing.Capture]:
    monkeypatch.setattr(guard, "reraise", True)
    with testing.capture() as captured:
        yield captured


async def cancelled_in(call: hooks.Call, seen: testing.Capture, servers: Servers, *, again: float | None) -> None:
    """A request that a host cancels from outside; `again` tells the limit anew just before."""
    async with client_session(servers.stdio().target) as session:
        with call:
            task = asyncio.create_task(call_tool(session, "hang"))
            await await_for(lambda: seen.total("otel_mcp.client.request.active", OPEN) == 1)
            if again is not None:
                call.limit(again)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            call.end("cancelled")


def outcomes(seen: testing.Capture) -> list[str]:
    """Of the one call's attempts, as the log and as the metric have them."""
    (call,) = seen.calls
    points = seen.metric("mcp.client.operation.duration", OPEN)
    assert [point.attributes["otel_mcp.outcome"] for point in points] == call.fields["attempt_outcomes"]
    return list(call.fields["attempt_outcomes"])


async def test_a_request_cancelled_after_the_hosts_limit_was_cut_off_by_it(
    servers: Servers, seen: testing.Capture
) -> None:
    await cancelled_in(hooks.call("host", tool="hang", limit=0.0), seen, servers, again=None)
    assert outcomes(seen) == ["deadline"]
    (span,) = (span for span in seen.spans if span.name == "tools/call _other")
    assert (span.attributes["otel_mcp.limit.source"], span.attributes["otel_mcp.limit.value"]) == ("host", 0.0)


async def test_a_request_cancelled_before_it_was_cancelled(servers: Servers, seen: testing.Capture) -> None:
    await cancelled_in(hooks.call("host", tool="hang", limit=60.0), seen, servers, again=None)
    assert outcomes(seen) == ["cancelled"]


async def test_a_limit_told_again_starts_anew(servers: Servers, seen: testing.Capture) -> None:
    await cancelled_in(hooks.call("host", tool="hang", limit=0.0), seen, servers, again=60.0)
    assert outcomes(seen) == ["cancelled"]


def test_a_call_is_overdue_by_the_clock_that_was_started_last() -> None:
    call = Call(ledger.connector("clock"), "tools/call", "hang")
    call.limits["host"] = 10.0
    assert call.overdue(call.started + 16)
    call.armed, call.armed_by = call.started + 10, "host"
    assert not call.overdue(call.started + 16)
    assert call.overdue(call.started + 26)
    assert (call.ran_out(call.started + 19), call.ran_out(call.started + 20)) == (None, (10.0, "host"))


async def test_a_call_given_up_in_another_thread_has_the_attempt_that_is_still_open(
    servers: Servers, seen: testing.Capture
) -> None:
    async with client_session(servers.stdio().target) as session:
        with hooks.call("host", tool="hang", limit=0.0) as call:
            task = asyncio.create_task(call_tool(session, "hang"))
            await await_for(lambda: seen.total("otel_mcp.client.request.active", OPEN) == 1)
            call.end("deadline")
        assert [(c.outcome, c.attempts, c.fields["attempt_outcomes"]) for c in seen.calls] == [
            ("deadline", 1, ["deadline"])
        ]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert outcomes(seen) == ["deadline"]


async def test_a_lock_that_something_else_than_a_call_waits_for_is_told_of_with_its_holder(
    seen: testing.Capture, our_warnings: list[str]
) -> None:
    watcher = Watcher(0.05)
    ledger.opened = watcher.opened
    lock = hooks.Lock("host", method=lambda: "tools/list")

    async def wait() -> None:
        async with lock:
            pass

    try:
        async with anyio.create_task_group() as group:
            with hooks.call("host", tool="slow"):
                await lock.acquire()
            group.start_soon(wait)
            told = await await_for(lambda: seen.events("still_waiting"))
            assert seen.total("otel_mcp.client.lock.waiting") == 1
            lock.release()
    finally:
        watcher.stop()
    fields = told[0].fields
    assert (told[0].connector, fields["id"], fields["method"], fields["phase"], fields["lock_holder"]) == (
        "host", None, "tools/list", "lock", "slow on host",
    )  # fmt: skip
    assert (seen.total("otel_mcp.client.lock.waiting"), ledger.lock_waits) == (0, set())
    assert all("tools/list on host is still waiting" in text for text in our_warnings)
    our_warnings.clear()


async def test_a_guessed_reason_gives_way_to_what_ended_the_last_session(
    servers: Servers, seen: testing.Capture
) -> None:
    server = servers.http(Fault("forget", times=1))
    for reason in (None, "transport"):
        with hooks.connecting("web", reason, sure=False):
            async with client_session(server.target) as session:
                with anyio.move_on_after(5), contextlib.suppress(McpError):
                    await call_tool(session, "echo", {"text": "hello"})
    assert [event.fields["reason"] for event in seen.events("connect")] == ["initial", "session_expired"]


@pytest.mark.parametrize(
    ("verdict", "in_queue", "root_cause", "expected"),
    [
        (None, False, None, "unknown"),
        (None, True, None, "lock_wait"),
        (v.FAILED_BY_TOOL, False, None, "tool_error"),
        (Verdict(Outcome.ERROR, "-32602"), False, None, "error"),
        (Verdict(Outcome.DEADLINE, v.TIMEOUT), False, None, "deadline"),
        (Verdict(Outcome.DEADLINE, v.TIMEOUT), True, None, "lock_wait"),
        (Verdict(Outcome.DEADLINE, v.TIMEOUT), False, "http_401", "auth"),
        (Verdict(Outcome.DISCONNECTED, "403"), False, "http_403", "auth"),
        (Verdict(Outcome.DISCONNECTED, "429"), False, "http_429", "rate_limit"),
        (Verdict(Outcome.DISCONNECTED, v.CONNECTION_CLOSED), False, "process_exit", "transport"),
        (v.LEFT_BEHIND, False, None, "transport"),
        (Verdict(Outcome.REJECTED, v.NOT_CONNECTED), False, None, "not_connected"),
        (v.GIVEN_UP, False, None, "unknown"),
    ],
)
def test_a_strikes_cause_follows_from_how_the_call_failed(
    verdict: Verdict | None, in_queue: bool, root_cause: str | None, expected: str
) -> None:
    assert strike_cause(verdict, in_queue=in_queue, root_cause=root_cause) == expected
