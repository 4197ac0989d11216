"""One attempt of a connector's call: wait for the session, for quiet, for the lock; send; say how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio

from otel_mcp._ground import verdicts
from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _report
from otel_mcp.resilience._breaker import CircuitBreaker, Permit
from otel_mcp.resilience._connection import Connection
from otel_mcp.resilience._deadline import result_of
from otel_mcp.resilience._errors import NotConnected
from otel_mcp.resilience._guarded import rejected, strike_of
from otel_mcp.resilience._owner import Owner
from otel_mcp.resilience._request import Request
from otel_mcp.resilience._result import CallResult
from otel_mcp.resilience._retry import Plan
from otel_mcp.resilience._signal import News

_ANSWERED: Final = frozenset({Outcome.OK, Outcome.TOOL_ERROR, Outcome.ERROR})


@dataclass(frozen=True)
class Ask:
    """What a call asks of a session."""

    method: str
    send: Callable[[Any], Awaitable[Any]]
    tool: str | None = None


class Line:
    """The way to the server that all requests of a connector share: its lock, its session, its quiet times."""

    def __init__(self, name: str, owner: Owner, news: News) -> None:
        self.name = name
        self.owner = owner
        self.lock = anyio.Lock()
        self.left_behind = 0
        self.quiet_time = 0.0
        self._news = news

    def waiting(self) -> int:
        """Requests that wait for the lock now."""
        return self.lock.statistics().tasks_waiting

    async def attempt(self, ask: Ask, plan: Plan, call: _report.Call) -> CallResult:
        """One attempt, at most until the plan's deadline. Rejected if the connector is parked or closed."""
        started = anyio.current_time()
        limit = started + plan.deadline
        lock_wait = 0.0
        self.quiet_time = plan.policy.quiet_time
        while True:
            try:
                with call.phase("connect"):
                    connection = await self.owner.usable(limit)
            except NotConnected as refusal:
                return rejected(refusal)
            if connection is None:
                return _out_of_time("connect", started, plan.deadline, lock_wait)
            with call.phase("backoff"):
                if not await self.quiet(limit):
                    return _out_of_time("backoff", started, plan.deadline, lock_wait)
            async with AsyncExitStack() as stack:
                asked = anyio.current_time()
                held = await self._acquire(stack, ask, call, limit)
                lock_wait += anyio.current_time() - asked
                if not held:
                    return _out_of_time("lock", started, plan.deadline, lock_wait)
                # While we waited, the session may have been renewed, or the call before us may have been cut off.
                if connection.usable and connection.quiet_until() is None:
                    send = _bound(ask.send, connection.session)
                    result = await self.send(connection, ask.method, send, plan.deadline, limit)
                    connection.judge(result)
                    return replace(result, elapsed=anyio.current_time() - started, lock_wait=lock_wait)

    async def quiet(self, limit: float) -> bool:
        """Wait until no cut-off request can still be at work; False if `limit` comes first."""
        while True:
            connection = self.owner.connection
            until = None if connection is None else connection.quiet_until()
            if connection is None or until is None or not connection.usable:
                return True  # a renewed session knows nothing of what the old one was asked
            if anyio.current_time() >= limit:
                return False
            await self._news.until(_quiet_or_gone(connection), min(until, limit))

    async def _acquire(self, stack: AsyncExitStack, ask: Ask, call: _report.Call, limit: float) -> bool:
        holder = _report.holder(self.name, ask.method, ask.tool)
        with anyio.move_on_after(max(0.0, limit - anyio.current_time())), call.phase("lock"):
            await stack.enter_async_context(_report.sink.lock(self.lock, self.name, holder=holder))
            return True
        return False

    async def send(
        self, connection: Connection, method: str, send: Callable[[], Awaitable[Any]], deadline: float, limit: float
    ) -> CallResult:
        """Send under the lock that the caller holds, and wait until `limit`."""
        request = Request(method, send, limit)
        connection.requests.add(request)
        connection.http_status = None
        started = anyio.current_time()
        request.flight.start()
        ended_by_peer = False
        try:
            in_time = await request.flight.wait()
            result = result_of(request.flight, in_time, deadline, anyio.current_time() - started, None)
            ended_by_peer = result.outcome in _ANSWERED
        finally:
            connection.requests.discard(request)
            self.left_behind += request.flight.left_behind
            if not ended_by_peer:
                connection.abandon(request, anyio.current_time() + self.quiet_time)
            self._news.spread()
        if request.answered:
            self.owner.budget.health()
        return replace(result, sent=request.sent) if ended_by_peer else _with_facts(result, request, connection)


class Attempts:
    """The surroundings of a connector's call, for the retry loop."""

    def __init__(
        self, line: Line, ask: Ask, plan: Plan, permit: Permit, breaker: CircuitBreaker, call: _report.Call
    ) -> None:
        self._line = line
        self._ask = ask
        self._plan = plan
        self._permit = permit
        self._breaker = breaker
        self._call = call

    async def attempt(self) -> CallResult:
        return await self._line.attempt(self._ask, self._plan, self._call)

    def begin(self) -> None:
        self._permit.begin()

    def ended(self, result: CallResult) -> None:
        self._permit.record(result.outcome, strike_of(result))

    def lets_through(self) -> bool:
        parked = self._line.owner.state in ("parked", "closed")
        return not parked and not self._permit.is_probe and self._breaker.state == "closed"

    async def back_off(self, seconds: float) -> None:
        with self._call.phase("backoff"):
            await anyio.sleep(seconds)

    async def quiet(self) -> None:
        with self._call.phase("backoff"):
            await self._line.quiet(float("inf"))


def _bound(send: Callable[[Any], Awaitable[Any]], session: Any) -> Callable[[], Awaitable[Any]]:
    return lambda: send(session)


def _quiet_or_gone(connection: Connection) -> Callable[[], bool]:
    return lambda: connection.quiet_until() is None or not connection.usable


def _out_of_time(phase: str, started: float, deadline: float, lock_wait: float) -> CallResult:
    text = f"no answer within {deadline:g} s; not sent, the time went into phase {phase}"
    return CallResult(
        Outcome.DEADLINE,
        detail=f"TimeoutError: {text}",
        error=TimeoutError(text),
        elapsed=anyio.current_time() - started,
        lock_wait=lock_wait,
        sent=False,
        cause="lock_wait" if phase == "lock" else None,
        error_type="timeout",
        phase=phase,
    )


def _with_facts(result: CallResult, request: Request, connection: Connection) -> CallResult:
    """What the wire has seen of a request that was not answered."""
    phase = "wait" if request.sent else "write"
    cause, error_type = result.cause, result.error_type
    if result.outcome is Outcome.DEADLINE and phase == "write":
        cause = "write_stalled"
    status = connection.http_status
    if result.outcome is Outcome.DISCONNECTED and status is not None and error_type != "session_expired":
        cause, error_type = verdicts.http_cause(status), str(status)
    return replace(result, sent=request.sent, phase=phase, cause=cause, error_type=error_type)
