"""`Connector` on virtual time, against the fake server of `scripted`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

from otel_mcp.resilience import (
    BreakerOpen,
    CallResult,
    CircuitBreaker,
    Connector,
    DeadlineInverted,
    Outcome,
    ReconnectPolicy,
    RetryPolicy,
    _reconnect,
)

from .scripted import Scripted

pytestmark = pytest.mark.anyio

RECONNECT = ReconnectPolicy(base=1, cap=60, attempts=5, park_interval=300)


@asynccontextmanager
async def connected(server: Scripted, **options: Any) -> AsyncIterator[Connector]:
    settings: dict[str, Any] = {"deadline": 10.0, "reconnect": RECONNECT, "keepalive_interval": None}
    async with Connector("odoo", server, **(settings | options)) as connector:
        yield connector


async def until(condition: Any, step: float) -> None:
    """Let virtual time pass in steps until `condition` holds."""
    with anyio.fail_after(10_000):
        while not condition():  # noqa: ASYNC110 - the connector tells its own callers, not a test
            await anyio.sleep(step)


async def collect(results: list[CallResult], call: Any) -> None:
    results.append(await call)


@pytest.mark.promise("one-lock")
async def test_requests_of_one_connector_never_overlap_and_their_wait_is_measured() -> None:
    server = Scripted()
    results: list[CallResult] = []
    async with connected(server) as connector, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(collect, results, connector.call_tool("sleep", {"seconds": 2}))

    times = [arrival.time for arrival in server.seen("tools/call")]
    assert [later - earlier for earlier, later in pairwise(times)] == [pytest.approx(2)] * 2
    assert sorted(round(result.lock_wait) for result in results) == [0, 2, 4]


@pytest.mark.promise("queue-time-is-no-strike", "one-lock")
async def test_a_call_that_is_cut_off_while_it_waits_for_the_lock_was_not_sent_and_is_no_strike() -> None:
    server = Scripted()
    results: list[CallResult] = []
    async with connected(server, deadline=30.0) as connector:
        assert await connector.wait_ready(1)
        async with anyio.create_task_group() as group:
            group.start_soon(collect, results, connector.call_tool("sleep", {"seconds": 20}))
            await anyio.wait_all_tasks_blocked()
            for _ in range(4):
                await collect(results, connector.call_tool("echo", deadline=1))
        strikes = connector.breaker.statistics()

    queued = results[:4]
    ends = {(r.outcome, r.phase, r.sent, r.cause, r.attempts) for r in queued}
    assert ends == {(Outcome.DEADLINE, "lock", False, "lock_wait", 0)}
    assert all(r.lock_wait == pytest.approx(1) for r in queued)
    assert (strikes.state, strikes.strikes, strikes.ignored) == ("closed", (), {"lock_wait": 4})
    assert len(server.seen("tools/call")) == 1


@pytest.mark.promise("deadline-is-hard", "lock-not-kept", "left-behind-renews")
async def test_a_transport_that_swallows_cancellation_keeps_neither_the_caller_nor_the_lock() -> None:
    server = Scripted(send_wrapper=Stubborn)
    async with connected(server, deadline=5.0) as connector:
        assert await connector.wait_ready(1)
        Stubborn.stuck = True
        cut = await connector.call_tool("echo")
        Stubborn.stuck = False
        after = await connector.call_tool("echo")
        statistics = connector.statistics()

    assert (cut.outcome, cut.left_behind, cut.phase) == (Outcome.DEADLINE, True, "write")
    assert cut.elapsed == pytest.approx(5.05)
    assert after.outcome is Outcome.OK
    assert (statistics.left_behind, statistics.generation, statistics.connects["recycle"]) == (1, 2, 1)


class Stubborn:
    """A write stream that, while ``stuck``, takes a minute and no cancellation."""

    stuck = False

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, item: Any) -> None:
        if Stubborn.stuck:
            stop = anyio.current_time() + 60
            with anyio.CancelScope(shield=True):
                while anyio.current_time() < stop:
                    try:
                        await anyio.sleep_until(stop)
                    except BaseException:  # noqa: S112 - this is what the stream is about
                        continue
            return
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Stubborn:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.aclose()


@pytest.mark.promise("quiet-after-cutoff")
async def test_after_a_cut_off_other_calls_wait_until_the_quiet_time_has_passed() -> None:
    server = Scripted()
    async with connected(server, policy=RetryPolicy(quiet_time=3)) as connector:
        assert await connector.wait_ready(1)
        began = anyio.current_time()
        await connector.call_tool("hang", deadline=5)
        result = await connector.call_tool("echo")

    assert result.outcome is Outcome.OK
    assert [arrival.time - began for arrival in server.seen("tools/call")] == [pytest.approx(0), pytest.approx(8)]


@pytest.mark.promise("quiet-after-cutoff", "call-waits-for-session")
async def test_a_call_in_the_quiet_time_goes_on_with_the_new_session_when_the_old_one_ends() -> None:
    server = Scripted()
    results: list[CallResult] = []
    async with connected(server, policy=RetryPolicy(quiet_time=1000), deadline=100.0) as connector:
        assert await connector.wait_ready(1)
        await connector.call_tool("hang", deadline=1)
        async with anyio.create_task_group() as group:
            group.start_soon(collect, results, connector.call_tool("echo"))
            await anyio.sleep(1)
            server.reachable = False
            group.start_soon(connector.reconnect)
            await anyio.sleep(0.01)
            server.reachable = True

    assert [(r.outcome, r.attempts) for r in results] == [(Outcome.OK, 1)]
    assert results[0].elapsed < 20


@pytest.mark.promise("keepalive-skips", "quiet-after-cutoff")
async def test_no_probe_is_sent_beside_a_call_nor_into_the_quiet_after_a_cut_off() -> None:
    server = Scripted()
    async with connected(server, keepalive_interval=1.0, policy=RetryPolicy(quiet_time=20)) as connector:
        assert await connector.wait_ready(1)
        await connector.call_tool("hang", deadline=9)
        cut = anyio.current_time()
        await anyio.sleep(30)

    call = server.seen("tools/call")[0]
    pings = [arrival.time for arrival in server.seen("ping")]
    assert not [ping for ping in pings if call.time <= ping < cut + 20]
    assert len([ping for ping in pings if ping >= cut + 20]) >= 9
    assert connector.statistics().keepalive.skipped >= 28


@pytest.mark.promise("probes-staggered")
async def test_probes_of_connectors_opened_together_are_spread_over_the_interval() -> None:
    servers = [Scripted() for _ in range(20)]
    async with anyio.create_task_group() as group:

        async def live(server: Scripted) -> None:
            async with connected(server, keepalive_interval=180.0):
                await anyio.sleep(400)

        for server in servers:
            group.start_soon(live, server)

    first = sorted(server.seen("ping")[0].time for server in servers)
    assert first[-1] - first[0] > 60
    for server in servers:
        pings = [arrival.time for arrival in server.seen("ping")]
        assert pings[1] - pings[0] == pytest.approx(180, abs=1)


@pytest.mark.promise("keepalive-finds-dead", "teardown-tells")
async def test_a_silent_probe_ends_the_session_and_the_call_behind_it_runs_on_the_new_one() -> None:
    server = Scripted(ping="hang")
    async with connected(server, keepalive_interval=1.0, keepalive_timeout=2.0) as connector:
        assert await connector.wait_ready(1)
        await until(lambda: bool(server.seen("ping")), 0.1)
        server.ping = "ok"
        result = await connector.call_tool("echo")

    assert result.outcome is Outcome.OK
    assert connector.statistics().connects == {"initial": 1, "keepalive": 1}
    assert server.seen("tools/call")[0].connection == 2


@pytest.mark.promise("call-waits-for-session")
async def test_a_call_during_a_reconnect_waits_for_it_within_its_deadline() -> None:
    server = Scripted()
    async with connected(server, deadline=200.0) as connector:
        assert await connector.wait_ready(1)
        server.reachable = False
        assert (await connector.call_tool("drop")).outcome is Outcome.DISCONNECTED
        results: list[CallResult] = []
        async with anyio.create_task_group() as group:
            group.start_soon(collect, results, connector.call_tool("echo", deadline=190))
            group.start_soon(collect, results, connector.call_tool("echo", deadline=0.001))
            await anyio.sleep(0.5)
            server.reachable = True

    assert [(r.outcome, r.phase) for r in results] == [(Outcome.DEADLINE, "connect"), (Outcome.OK, None)]


@pytest.mark.promise("reconnect-storm-ends")
async def test_reconnects_back_off_with_doubling_bounds_and_end_parked() -> None:
    server = Scripted()
    attempts: list[float] = []
    async with connected(server) as connector:
        assert await connector.wait_ready(1)
        server.reachable = False
        await connector.call_tool("drop")
        for _ in range(5):
            generation = connector.statistics().generation
            await until(lambda known=generation: connector.statistics().generation > known, 0.01)
            attempts.append(anyio.current_time())
        await anyio.sleep(0.1)
        assert connector.state == "parked"

    for number, wait in enumerate(later - earlier for earlier, later in pairwise(attempts)):
        assert wait <= 2 ** (number + 1) + 0.1
    assert connector.statistics().connects == {"initial": 1, "transport": 5}


@pytest.mark.promise("parked-rejects", "parked-probes-itself")
async def test_a_parked_connector_rejects_at_once_and_revives_by_itself() -> None:
    server = Scripted(reachable=False)
    async with connected(server) as connector:
        await until(lambda: connector.state == "parked", 1)
        parked_at = anyio.current_time()
        rejected = await connector.call_tool("echo")
        assert anyio.current_time() == parked_at
        server.reachable = True
        await anyio.sleep(301)
        revived = await connector.call_tool("echo")

    assert (rejected.outcome, rejected.error_type) == (Outcome.REJECTED, "not_connected")
    assert "parked after ConnectionRefusedError: nobody listens" in rejected.detail
    assert revived.outcome is Outcome.OK
    assert connector.statistics().connects == {"initial": 6, "revival": 1}


@pytest.mark.promise("parked-probes-itself", "health-restores-budget")
async def test_a_revived_connector_that_dies_before_an_answer_parks_again_at_once() -> None:
    server = Scripted(reachable=False)
    async with connected(server) as connector:
        await until(lambda: connector.state == "parked", 1)
        server.reachable = True
        assert await connector.reconnect()
        server.reachable = False
        await connector.call_tool("drop")
        await anyio.sleep(0.1)
        assert connector.state == "parked"


@pytest.mark.promise("clock-jump-staggers")
async def test_after_a_sleep_of_the_machine_reconnects_are_spread_and_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asleep = 0.0
    monkeypatch.setattr(_reconnect, "wall", lambda: anyio.current_time() + asleep)
    policy = ReconnectPolicy(base=0.001, stagger=10)
    servers = [Scripted() for _ in range(12)]
    back: list[float] = []

    async def live(server: Scripted) -> None:
        async with connected(server, reconnect=policy) as connector:
            assert await connector.wait_ready(1)
            await anyio.sleep(1)
            await connector.call_tool("drop")
            dropped = anyio.current_time()
            assert await connector.wait_ready(60)
            back.append(anyio.current_time() - dropped)

    with caplog.at_level(logging.WARNING, "otel_mcp"):
        async with anyio.create_task_group() as group:
            for server in servers:
                group.start_soon(live, server)
            await anyio.sleep(0.5)
            asleep = 3600.0

    assert max(back) - min(back) > 2
    assert max(back) <= 10.1
    assert sum("the clock jumped" in record.getMessage() for record in caplog.records) == 12


@pytest.mark.promise("open-does-not-touch")
async def test_an_open_breaker_rejects_without_touching_the_session() -> None:
    server = Scripted()
    breaker = CircuitBreaker("odoo", threshold=2, cooldown=60)
    async with connected(server, breaker=breaker, policy=RetryPolicy(quiet_time=0)) as connector:
        for _ in range(2):
            assert (await connector.call_tool("hang", deadline=1)).outcome is Outcome.DEADLINE
        arrived = len(server.arrivals)
        rejected = await connector.call_tool("echo")
        assert len(server.arrivals) == arrived
        await anyio.sleep(60)
        probe = await connector.call_tool("echo")

    assert isinstance(rejected.error, BreakerOpen)
    assert (rejected.outcome, rejected.breaker, rejected.attempts) == (Outcome.REJECTED, "open", 0)
    assert (probe.outcome, probe.breaker, breaker.state) == (Outcome.OK, "half_open", "closed")


@pytest.mark.promise("deadline-inverted")
async def test_a_calls_own_deadline_replaces_the_connectors_and_may_be_longer() -> None:
    async with connected(Scripted(), deadline=1.0) as connector:
        result = await connector.call_tool("sleep", {"seconds": 5}, deadline=8)
        with anyio.fail_after(1), pytest.raises(DeadlineInverted):
            await connector.call_tool("echo")

    assert result.outcome is Outcome.OK


@pytest.mark.promise("no-write-twice")
async def test_a_request_that_was_certainly_not_sent_is_made_again_on_the_new_session() -> None:
    server = Scripted(send_wrapper=Closing)
    async with connected(server) as connector:
        assert await connector.wait_ready(1)
        Closing.closed = True
        result = await connector.call_tool("write")

    assert (result.outcome, result.attempts) == (Outcome.OK, 2)
    assert len(server.seen("tools/call")) == 1


class Closing(Stubborn):
    """A write stream that refuses one message when told to, as one does that has been closed."""

    closed = False

    async def send(self, item: Any) -> None:
        if Closing.closed:
            Closing.closed = False
            raise anyio.ClosedResourceError
        await self._inner.send(item)


@pytest.mark.promise("healthy-lose-nothing")
async def test_of_ten_connectors_one_hung_and_one_flapping_cost_the_other_eight_nothing() -> None:
    servers = [Scripted() for _ in range(10)]
    results: dict[int, list[CallResult]] = {number: [] for number in range(10)}
    tools = {0: "hang", 1: "drop"}

    async def use(number: int) -> None:
        async with connected(servers[number], deadline=5.0, keepalive_interval=30.0) as connector:
            for _ in range(100):
                results[number].append(await connector.call_tool(tools.get(number, "echo")))

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(use, number)

    assert {len(of) for of in results.values()} == {100}
    assert all(r.outcome is Outcome.OK and r.elapsed < 0.001 for n in range(2, 10) for r in results[n])
    assert {r.outcome for r in results[0]} == {Outcome.DEADLINE, Outcome.REJECTED}
    assert {r.outcome for r in results[1]} <= {Outcome.DISCONNECTED, Outcome.REJECTED, Outcome.DEADLINE}
    assert {r.phase for r in results[1] if r.outcome is Outcome.DEADLINE} <= {"connect"}, "back-off may outlast 5 s"
    assert all(server.open_now == 0 for server in servers)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"deadline": 0}, "deadline must be a positive number of seconds, got 0"),
        ({"keepalive_interval": -1}, "keepalive_interval must be a positive number of seconds, got -1"),
        ({"connect_timeout": 0}, "connect_timeout must be"),
        ({"budget": 5.0}, "10 s is not shorter than the budget"),
    ],
)
def test_a_connector_that_makes_no_sense_says_why(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Connector("odoo", Scripted(), **({"deadline": 10.0} | wrong))


@pytest.mark.parametrize("target", ["odoo", 42, None, "ftp://x"])
def test_a_target_that_cannot_be_connected_to_is_refused(target: object) -> None:
    with pytest.raises(TypeError, match="target must be StdioServerParameters, an http"):
        Connector("odoo", target, deadline=10.0)


async def test_a_connector_is_entered_once() -> None:
    async with connected(Scripted()) as connector:
        with pytest.raises(RuntimeError, match="was entered before"):
            await connector.__aenter__()


async def test_an_unknown_reason_for_a_reconnect_is_refused() -> None:
    async with connected(Scripted()) as connector:
        with pytest.raises(ValueError, match="reason must be one of initial, additional"):
            await connector.reconnect("because")
