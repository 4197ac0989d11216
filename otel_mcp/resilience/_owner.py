"""The life of a connector: connect, serve, reconnect with back-off, park, revive, close.

::

    connecting ──> ready ──lost or asked──> reconnecting ──> ready
        │                                       │
        └────────────budget used up─────────────┴──> parked ──own probe or asked──> connecting
    any ──close──> closed
"""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

from otel_mcp.resilience import _classify, _report, _sdk
from otel_mcp.resilience._connection import Connection
from otel_mcp.resilience._errors import NotConnected
from otel_mcp.resilience._flight import Flight
from otel_mcp.resilience._reconnect import Budget, ClockJump, ReconnectPolicy
from otel_mcp.resilience._signal import News

logger = logging.getLogger("otel_mcp.resilience")

_REAP = 1.0
"""Seconds that a connection gets to end after it was cancelled, before it is left behind."""


class Owner:
    """Runs the connections of one connector, one after the other, in a task of its own. Times in seconds."""

    def __init__(
        self,
        name: str,
        target: _sdk.Target,
        policy: ReconnectPolicy,
        *,
        connect_timeout: float,
        close_timeout: float,
        news: News,
        background: Callable[[Connection], Coroutine[Any, Any, None]],
    ) -> None:
        self.name = name
        self.state = "connecting"
        self.connection: Connection | None = None
        self.generation = 0
        self.connects: Counter[str] = Counter()
        self.left_behind = 0
        self.last_error: str | None = None
        self.budget = Budget(policy)
        self._target = target
        self._policy = policy
        self.connect_timeout = connect_timeout
        self.close_timeout = close_timeout
        self._news = news
        self._background = background
        self._closing = False
        self._wanted: str | None = None
        self._jump: ClockJump | None = None
        self._flight = Flight(self._own, math.inf, name=f"otel_mcp {name} owner")

    def start(self) -> None:
        self._jump = ClockJump()
        _report.sink.state(self.name, self.state)
        self._flight.start()

    async def close(self) -> None:
        """End everything; returns when nothing runs any more, at the latest after the two time limits of ending."""
        self._closing = True
        self._news.spread()
        if self.connection is not None:
            self.connection.stop("closed", "shutdown")
        limit = anyio.current_time() + self.close_timeout + 2 * _REAP
        await self._news.until(self._flight.over.is_set, limit)
        self._flight.interrupt(None)
        self._enter("closed")

    def reconnect(self, reason: str) -> None:
        """Ask for a new session; wakes a parked connector."""
        self._wanted = reason
        if self.connection is not None:
            self.connection.stop(reason)
        self._news.spread()

    async def usable(self, limit: float) -> Connection | None:
        """The connection to send on, waited for until `limit`; None if the time ran out.

        Raises `NotConnected` if there is nothing to wait for: parked or closed.
        """
        await self._news.until(lambda: self._now_usable() or self.state in ("parked", "closed"), limit)
        if self._now_usable():
            return self.connection
        if self.state in ("parked", "closed"):
            raise NotConnected(self.name, self.state, self.last_error if self.state == "parked" else None)
        return None

    def _now_usable(self) -> bool:
        return self.connection is not None and self.connection.usable

    def _ending(self) -> bool:
        return self._closing

    # --- the task -------------------------------------------------------------------------------------------------
    async def _own(self) -> None:
        reason, delay = "initial", 0.0
        try:
            while not self._ending():
                await self._pause(delay)
                if self._ending():
                    break
                reason, self._wanted = self._wanted or reason, None
                connection = await self._connect_and_serve(reason)
                if self._ending():
                    break
                reason = connection.reason if connection.ready_at is None else connection.end_reason or "unknown"
                reason, delay = await self._after(connection, reason)
        except Exception:
            # A fault of ours: the connector closes and its calls are rejected, instead of waiting for nobody.
            logger.exception("connector %r: its owner stopped", self.name)
        finally:
            self._enter("closed")
            self._closing = True
            if self.connection is not None:
                self.connection.stop("closed", "shutdown")
                self.connection.abort()
            self._news.spread()

    async def _pause(self, seconds: float) -> None:
        moment = anyio.current_time() + seconds
        await self._news.until(lambda: self._ending() or self._wanted is not None, moment)

    async def _connect_and_serve(self, reason: str) -> Connection:
        self.generation += 1
        self.connects[reason] += 1
        connection = Connection(self.name, self.generation, self._target, reason, self._news, self._background)
        self.connection = connection
        connection.start()
        limit = anyio.current_time() + self.connect_timeout
        await self._news.until(lambda: connection.ready_at is not None or connection.end_reason is not None, limit)
        if connection.ready_at is None:
            timed_out = connection.end_reason is None
            connection.stop(reason)
            connection.abort()
            self.last_error = f"no connection within {self.connect_timeout:g} s" if timed_out else None
        elif connection.end_reason is None:
            self._enter("ready")
            await self._news.until(lambda: connection.end_reason is not None)
        await self._reap(connection)
        return connection

    async def _reap(self, connection: Connection) -> None:
        if not self._ending():
            self._enter("reconnecting" if connection.ready_at is not None else self.state)
        limit = anyio.current_time() + self.close_timeout
        if not await self._news.until(lambda: connection.over, limit):
            connection.abort()
            if not await self._news.until(lambda: connection.over, anyio.current_time() + _REAP):
                self.left_behind += 1
                logger.warning("connector %r: generation %d does not end; left behind", self.name, self.generation)
        if connection.ready_at is not None:
            self.last_error = f"session ended: {connection.end_reason} ({connection.end_cause})"
        elif connection.failure is not None:
            self.last_error = _classify.describe(_classify.unwrapped(connection.failure))
        elif self.last_error is None:
            self.last_error = f"the server ended before it was ready ({connection.end_cause})"

    async def _after(self, connection: Connection, reason: str) -> tuple[str, float]:
        """What comes next: a reason and a delay. Stays in here while parked."""
        if connection.end_reason == "requested" or self._wanted is not None:
            return reason, 0.0
        delay = self.budget.spend()
        if delay is None:
            return await self._park()
        if self._jump is not None and self._jump.recently():
            # The machine slept: every connector finds its session dead in the same second, for one local reason.
            extra = random.uniform(0.0, self._policy.stagger)  # noqa: S311 - spreading load needs no secret
            logger.warning("connector %r: the clock jumped; reconnecting in %.1f s", self.name, delay + extra)
            return reason, delay + extra
        logger.info("connector %r: %s; reconnecting in %.1f s", self.name, self.last_error, delay)
        return reason, delay

    async def _park(self) -> tuple[str, float]:
        logger.warning(
            "connector %r parked after %s; trying again in %g s", self.name, self.last_error, self._policy.park_interval
        )
        self._enter("parked")
        await self._pause(self._policy.park_interval)
        if not self._ending():
            self._enter("connecting")
        return "revival", 0.0

    def _enter(self, state: str) -> None:
        if self.state != state:
            self.state = state
            # A session that is ready speaks for itself; what was said of the connector before is taken back.
            _report.sink.state(self.name, None if state == "ready" else state)
        self._news.spread()
