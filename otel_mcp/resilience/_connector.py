"""A configured MCP server as a host uses it: one session at a time, kept alive, called under guard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import anyio
import anyio.lowlevel

from otel_mcp._ground.names import CONNECT_REASONS
from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _report, _sdk
from otel_mcp.resilience._attempt import Ask, Attempts, Line
from otel_mcp.resilience._breaker import CircuitBreaker
from otel_mcp.resilience._connection import Connection
from otel_mcp.resilience._deadline import check_inversion, check_seconds
from otel_mcp.resilience._errors import BreakerOpen
from otel_mcp.resilience._guarded import recorded, rejected
from otel_mcp.resilience._keepalive import Keepalive, KeepaliveStatistics
from otel_mcp.resilience._owner import Owner
from otel_mcp.resilience._reconnect import ReconnectPolicy
from otel_mcp.resilience._result import CallResult
from otel_mcp.resilience._retry import RetryPolicy, attempts_of, make_plan
from otel_mcp.resilience._signal import News


@dataclass(frozen=True)
class ConnectorStatistics:
    """A snapshot. Seconds."""

    state: str
    """``connecting``, ``ready``, ``reconnecting``, ``parked`` or ``closed``."""
    generation: int
    """Of the newest session, from 1; 0 before the first connect."""
    connects: Mapping[str, int]
    """Connects begun, by reason."""
    session_age: float | None
    in_flight: int
    """Requests open now, keepalive included."""
    lock_waiting: int
    left_behind: int
    """Callees and connections that did not acknowledge their cancellation."""
    reconnects_left: int
    """Before parking."""
    last_error: str | None
    keepalive: KeepaliveStatistics


class Connector:
    """One MCP server: transport, session, keepalive, reconnects and guarded calls. For one event loop.

    `target` is ``StdioServerParameters``, an http(s) URL, or a function that returns an async context manager of the
    two streams. `deadline` is the limit of each attempt of a call, in seconds; a call may bring its own. `budget`
    bounds a call with all its attempts. The keepalive sends one small request when nothing has been under way for a
    turn of `keepalive_interval` (None: never) and gives up on the session when that is not answered within
    `keepalive_timeout`.

    Entering starts to connect and does not wait: a server that is down costs its own calls, not the run. Raises
    ValueError or TypeError for values that make no sense; `CooldownOutlastsRun` is warned by the breaker.
    """

    def __init__(
        self,
        name: str,
        target: _sdk.Target,
        *,
        deadline: float,
        policy: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
        keepalive_interval: float | None = 180.0,
        keepalive_timeout: float = 30.0,
        connect_timeout: float = 30.0,
        close_timeout: float = 10.0,
        reconnect: ReconnectPolicy | None = None,
        budget: float | None = None,
    ) -> None:
        check_seconds("deadline", deadline)
        for key, value in (
            ("keepalive_timeout", keepalive_timeout),
            ("connect_timeout", connect_timeout),
            ("close_timeout", close_timeout),
            *([("keepalive_interval", keepalive_interval)] if keepalive_interval is not None else []),
        ):
            check_seconds(key, value)
        _sdk.check_target(target)
        self.name = name
        self.deadline = deadline
        self.policy = policy or RetryPolicy()
        self.budget = budget
        make_plan(self.policy, deadline, idempotent=False, budget=budget)
        self.breaker = breaker or CircuitBreaker(name)
        self._read_only: set[str] = set()
        self._news = News()
        self._keepalive = Keepalive(name, keepalive_interval, keepalive_timeout, busy=self._busy, send=self._probe)
        self._owner = Owner(
            name,
            target,
            reconnect or ReconnectPolicy(),
            connect_timeout=connect_timeout,
            close_timeout=close_timeout,
            news=self._news,
            background=self._keepalive.run,
        )
        self._line = Line(name, self._owner, self._news)
        self._entered = False

    # --- life -----------------------------------------------------------------------------------------------------
    async def __aenter__(self) -> Connector:
        if self._entered:
            raise RuntimeError(f"connector {self.name!r} was entered before; make a new one")
        self._entered = True
        self._owner.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close: open calls end as `disconnected`, cause ``shutdown``; returns when nothing is left running."""
        # Shielded, because a host that is being cancelled has to leave no process behind; every wait in it is bounded.
        with anyio.CancelScope(shield=True):
            await self._owner.close()

    async def wait_ready(self, timeout: float) -> bool:
        """Wait until calls can be sent, at most `timeout` seconds; whether they can."""
        check_seconds("timeout", timeout)
        return await self._news.until(
            lambda: self._owner.connection is not None and self._owner.connection.usable,
            anyio.current_time() + timeout,
        )

    async def reconnect(self, reason: str = "requested") -> bool:
        """End the session and open another; wakes a parked connector. Whether the new one is ready.

        Open calls end as `disconnected`, cause ``reconnect``. `reason` is one of `otel_mcp.connect.reason`. Waits for
        the new session no longer than a connect may take.
        """
        if reason not in CONNECT_REASONS:
            raise ValueError(f"reason must be one of {', '.join(CONNECT_REASONS)}, got {reason!r}")
        before = self._owner.generation
        self._owner.reconnect(reason)
        await self._news.until(
            lambda: self._owner.state == "closed" or (self._owner.generation > before and self._settled()),
            anyio.current_time() + self._owner.connect_timeout + self._owner.close_timeout,
        )
        return self._owner.generation > before and self._owner.state == "ready"

    def _settled(self) -> bool:
        return self._owner.state in ("ready", "parked") or (
            self._owner.connection is not None and self._owner.connection.end_reason is not None
        )

    # --- looking in -----------------------------------------------------------------------------------------------
    @property
    def session(self) -> Any:
        """The SDK's ``ClientSession`` while there is one that is ready, else None. It is not guarded by the lock."""
        connection = self._owner.connection
        return connection.session if connection is not None and connection.usable else None

    @property
    def state(self) -> str:
        """``connecting``, ``ready``, ``reconnecting``, ``parked`` or ``closed``."""
        return self._owner.state

    def statistics(self) -> ConnectorStatistics:
        """A frozen snapshot. Needs a running event loop."""
        connection = self._owner.connection
        ready_at = connection.ready_at if connection is not None and connection.usable else None
        return ConnectorStatistics(
            state=self._owner.state,
            generation=self._owner.generation,
            connects=dict(self._owner.connects),
            session_age=None if ready_at is None else anyio.current_time() - ready_at,
            in_flight=0 if connection is None else len(connection.requests),
            lock_waiting=self._line.waiting(),
            left_behind=self._owner.left_behind + self._line.left_behind,
            reconnects_left=self._owner.budget.left,
            last_error=self._owner.last_error,
            keepalive=self._keepalive.statistics(),
        )

    # --- requests -------------------------------------------------------------------------------------------------
    async def call_tool(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        deadline: float | None = None,
        idempotent: bool | None = None,
        idempotency_key: str | None = None,
    ) -> CallResult:
        """Call a tool. One attempt, unless it may run twice.

        It may if `idempotent` is True, if an `idempotency_key` is given, or, with `idempotent` left None, if the
        server said ``readOnlyHint`` in `list_tools`. A server's ``idempotentHint`` alone is not enough. Raises
        `DeadlineInverted` and ValueError; everything else is in the result.
        """
        if idempotent is None:
            idempotent = idempotency_key is not None or tool in self._read_only
        ask = Ask("tools/call", lambda session: _sdk.call_tool(session, tool, arguments, idempotency_key), tool)
        return await self._call(ask, deadline, idempotent or idempotency_key is not None)

    async def read_resource(self, uri: str, *, deadline: float | None = None) -> CallResult:
        """Read a resource. Reading may be repeated, so it is, within the policy."""
        return await self._call(Ask("resources/read", lambda session: _sdk.read_resource(session, uri)), deadline, True)

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None, *, deadline: float | None = None
    ) -> CallResult:
        """Get a prompt. Getting may be repeated, so it is, within the policy."""
        ask = Ask("prompts/get", lambda session: _sdk.get_prompt(session, name, arguments), name)
        return await self._call(ask, deadline, True)

    async def list_tools(self, *, deadline: float | None = None) -> CallResult:
        """List the tools, all pages; the value is the SDK's result with all of them. Repeated within the policy."""
        result = await self._call(Ask("tools/list", _sdk.list_tools), deadline, True)
        if result.outcome is Outcome.OK:
            tools = result.value.tools
            self._read_only = {tool.name for tool in tools if _sdk.is_read_only(tool)}
            _report.sink.tools(self.name, len(tools))
        return result

    async def _call(self, ask: Ask, deadline: float | None, idempotent: bool) -> CallResult:
        limit = self.deadline if deadline is None else deadline
        budget = None if self.budget is None else max(self.budget, limit)
        plan = make_plan(self.policy, limit, idempotent=idempotent, budget=budget)
        await anyio.lowlevel.checkpoint_if_cancelled()
        check_inversion(limit)
        with _report.call(self.name, ask.method, ask.tool, limit, idempotent) as call:
            state = self.breaker.state
            call.breaker(state)
            try:
                permit = self.breaker.admit(limit)
            except BreakerOpen as refusal:
                call.reject("breaker_open")
                return rejected(refusal, state)
            with permit:
                result = await attempts_of(Attempts(self._line, ask, plan, permit, self.breaker, call), plan)
            if result.outcome is Outcome.REJECTED:
                call.reject("not_connected")
                return replace(result, breaker=state)
            return recorded(call, result, state, limit)

    # --- keepalive ------------------------------------------------------------------------------------------------
    def _busy(self, connection: Connection) -> bool:
        return self._line.lock.locked() or bool(connection.requests) or connection.quiet_until() is not None

    async def _probe(
        self, connection: Connection, method: str, send: Callable[[], Awaitable[Any]], timeout: float
    ) -> CallResult:
        holder = _report.holder(self.name, method, None)
        async with _report.sink.lock(self._line.lock, self.name, holder=holder):
            result = await self._line.send(connection, method, send, timeout, anyio.current_time() + timeout)
        connection.judge(result, probe=True)
        return result
