"""Whatever happens to a connector, in whatever order: what must hold, on virtual time.

hypothesis writes a script of things that happen (calls of every kind that overlap, callers that give up, a server that
goes and comes back, reconnects, time that passes); the script is played against the fake server of `scripted`, which
checks each request as it arrives, and the results are checked at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.virtual import BACKENDS, run
from otel_mcp.resilience import CallResult, CircuitBreaker, Connector, Outcome, ReconnectPolicy, RetryPolicy
from otel_mcp.resilience._flight import GRACE

from .scripted import Arrival, Scripted

DEADLINE = 5.0
QUIET = 2.0
KEEPALIVE = 7.0
SLACK = 1e-3
"""Virtual time is exact; asyncio rounds its timers to a nanosecond."""

calls = st.tuples(
    st.just("call"),
    st.sampled_from(["echo", "refuse", "sleep", "hang", "drop"]),
    st.booleans(),
    st.sampled_from([None, 0.5, 3.0, 20.0]),
)
steps = st.one_of(
    calls,
    calls,
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.1, 1.0, 4.0, 30.0, 400.0])),
    st.sampled_from([("down",), ("up",), ("reconnect",), ("give up",), ("mute",)]),
)


@dataclass
class Caller:
    """One call and its end: a result, or the caller's own cancellation; never both, never neither."""

    number: int
    tool: str
    idempotent: bool
    limit: float
    began: float
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    result: CallResult | None = None
    ended: float | None = None
    gave_up: bool = False


class Play:
    def __init__(self, script: list[tuple[Any, ...]], backend: str) -> None:
        self.script = script
        self.server = Scripted(on_arrival=self.check_arrival)
        self.callers: list[Caller] = []
        self.wrong: list[str] = []
        self.connector = Connector(
            "odoo",
            self.server,
            deadline=DEADLINE,
            policy=RetryPolicy(quiet_time=QUIET),
            breaker=CircuitBreaker("odoo", threshold=1_000_000),
            keepalive_interval=KEEPALIVE,
            keepalive_timeout=3.0,
            connect_timeout=4.0,
            reconnect=ReconnectPolicy(attempts=3),
        )

    def check_arrival(self, new: Arrival) -> None:
        """What a server of one connection may never see: a request beside one that somebody still waits for."""
        for old in self.server.arrivals:
            if old.connection != new.connection or old.answered or old.method == "initialize":
                continue
            if old.method == "ping":
                self.wrong.append(f"{new.method} beside an open probe")
                continue
            caller = self.callers[old.params["arguments"]["number"]]
            free = (1e9 if caller.ended is None else caller.ended) + QUIET - GRACE * 2 - SLACK
            if not caller.idempotent and new.time < free:
                self.wrong.append(f"{new.method} at {new.time} beside call {caller.number}, quiet until {free}")

    async def run(self) -> None:
        with anyio.fail_after(25 * 500):
            async with anyio.create_task_group() as group, self.connector:
                for step in self.script:
                    await self.play(step, group)
            self.check_end()
        self.check_callers()

    async def play(self, step: tuple[Any, ...], group: anyio.abc.TaskGroup) -> None:
        if step[0] == "call":
            _, tool, idempotent, limit = step
            caller = Caller(len(self.callers), tool, idempotent, limit or DEADLINE, anyio.current_time())
            self.callers.append(caller)
            group.start_soon(self.call, caller)
            await anyio.wait_all_tasks_blocked()
        elif step[0] == "wait":
            await anyio.sleep(step[1])
        elif step[0] == "give up":
            for caller in self.callers:
                caller.scope.cancel()
        elif step[0] == "reconnect":
            await self.connector.reconnect()
        elif step[0] == "mute":
            self.server.ping = "hang" if self.server.ping == "ok" else "ok"
        else:
            self.server.reachable = step[0] == "up"

    async def call(self, caller: Caller) -> None:
        with caller.scope:
            try:
                caller.result = await self.connector.call_tool(
                    caller.tool,
                    {"seconds": 2, "number": caller.number},
                    deadline=caller.limit,
                    idempotent=caller.idempotent,
                )
            except BaseException:
                caller.gave_up = True
                raise
            finally:
                caller.ended = anyio.current_time()

    def check_end(self) -> None:
        statistics = self.connector.statistics()
        if statistics.in_flight or statistics.lock_waiting or self.connector._line.lock.locked():
            self.wrong.append(f"after closing: {statistics}")
        if self.server.open_now:
            self.wrong.append(f"{self.server.open_now} transports are still open")
        if statistics.left_behind:
            self.wrong.append("something that obeys its cancellation was left behind")

    def check_callers(self) -> None:
        for caller in self.callers:
            if (caller.result is not None) == caller.gave_up:
                self.wrong.append(f"call {caller.number} ended in {caller.result} and gave up: {caller.gave_up}")
            self.check_result(caller)

    def check_result(self, caller: Caller) -> None:
        sent = [a for a in self.server.seen("tools/call") if a.params["arguments"]["number"] == caller.number]
        if not caller.idempotent and len(sent) > 1:
            self.wrong.append(f"call {caller.number} was not idempotent and was sent {len(sent)} times")
        result = caller.result
        if result is None:
            return
        if result.outcome is Outcome.REJECTED and sent:
            self.wrong.append(f"call {caller.number} was rejected and sent")
        if result.outcome is Outcome.OK and not sent:
            self.wrong.append(f"call {caller.number} was answered by nobody")
        if not caller.idempotent and result.elapsed > caller.limit + 2 * GRACE + SLACK:
            self.wrong.append(f"call {caller.number} took {result.elapsed}, its deadline was {caller.limit}")


@pytest.mark.promise(
    "one-outcome-a-call", "one-lock", "no-write-twice", "quiet-after-cutoff", "close-is-clean", "lock-not-kept"
)
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=40, deadline=None)
@given(script=st.lists(steps, min_size=1, max_size=25))
@example(script=[("call", "echo", False, None), ("reconnect",), ("wait", 0.0)])
def test_whatever_happens_in_whatever_order(backend: str, script: list[tuple[Any, ...]]) -> None:
    play = Play(script, backend)
    run(backend, play.run)

    assert play.wrong == []


@pytest.mark.promise("reconnect-storm-ends", "health-restores-budget")
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=30, deadline=None)
@given(
    script=st.lists(st.sampled_from(["drop", "answer", "down", "up", "long"]), min_size=1, max_size=30),
    attempts=st.integers(0, 4),
)
def test_connects_never_outnumber_the_budget_that_health_restores(
    backend: str, script: list[str], attempts: int
) -> None:
    """Between two answers there are at most `attempts` reconnects, besides the connector's own probes when parked."""
    server = Scripted()
    policy = ReconnectPolicy(base=0.5, attempts=attempts, park_interval=500)

    async def body() -> None:
        connector = Connector("odoo", server, deadline=1.0, reconnect=policy, keepalive_interval=None)
        async with connector:
            mark = 1
            for act in script:
                if act in ("up", "down"):
                    server.reachable = act == "up"
                elif act == "long":
                    await anyio.sleep(100)
                else:
                    result = await connector.call_tool("drop" if act == "drop" else "echo")
                    if result.outcome is Outcome.OK:
                        mark = made(connector)
                await anyio.lowlevel.checkpoint()
                assert made(connector) - mark <= attempts
                assert connector.statistics().reconnects_left <= attempts

    def made(connector: Connector) -> int:
        connects = connector.statistics().connects
        return sum(connects.values()) - connects.get("revival", 0)

    run(backend, body)
