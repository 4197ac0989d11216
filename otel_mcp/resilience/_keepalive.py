"""Whether anybody is there while nobody asks: one small request at a time, and never beside another."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _report, _sdk
from otel_mcp.resilience._result import CallResult

if TYPE_CHECKING:
    from otel_mcp.resilience._connection import Connection


@dataclass(frozen=True)
class KeepaliveStatistics:
    """Counts since the connector was entered."""

    answered: int
    """Probes that were answered; an error is an answer."""
    failed: int
    skipped: int
    """Turns that were left out because something was under way: a server that is answering is alive."""
    method: str
    """``ping``, or ``tools/list`` for a server or a protocol revision that has no ``ping``."""


Send = Callable[["Connection", str, Callable[[], Awaitable[Any]], float], Awaitable[CallResult]]


class Keepalive:
    """The turns of one connector, over all its sessions. `interval` and `timeout` in seconds."""

    def __init__(
        self, name: str, interval: float | None, timeout: float, *, busy: Callable[[Connection], bool], send: Send
    ) -> None:
        self._name = name
        self._interval = interval
        self._timeout = timeout
        self._busy = busy
        self._send = send
        self._pingless = False
        self._answered = self._failed = self._skipped = 0

    def statistics(self) -> KeepaliveStatistics:
        method = "tools/list" if self._pingless else "ping"
        return KeepaliveStatistics(self._answered, self._failed, self._skipped, method)

    async def run(self, connection: Connection) -> None:
        """Probe `connection` until it ends. The first turn comes at a random part of the interval, so that connectors
        that were opened together do not probe together."""
        self._pingless = self._pingless or not _sdk.has_ping(connection.revision)
        if self._interval is None:
            return
        await anyio.sleep(random.uniform(0.0, self._interval))  # noqa: S311 - spreading load needs no secret
        while connection.usable:
            await self._turn(connection)
            await anyio.sleep(self._interval)

    async def _turn(self, connection: Connection) -> None:
        if self._busy(connection):
            self._skipped += 1
            return
        method = "tools/list" if self._pingless else "ping"
        ask = _sdk.list_once if self._pingless else _sdk.ping
        with _report.sink.keepalive(self._name, method):
            result = await self._send(connection, method, lambda: ask(connection.session), self._timeout)
        if result.outcome in (Outcome.OK, Outcome.ERROR):
            self._answered += 1
            self._pingless = self._pingless or result.error_type == str(_sdk.METHOD_NOT_FOUND)
        elif result.outcome is not Outcome.CANCELLED:
            self._failed += 1
