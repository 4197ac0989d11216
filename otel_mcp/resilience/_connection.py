"""One generation of a connector: a transport and a session that live and end in one task."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import anyio

from otel_mcp._ground import verdicts
from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _classify, _report, _sdk
from otel_mcp.resilience._errors import ReconnectedDuringCall
from otel_mcp.resilience._flight import Flight
from otel_mcp.resilience._request import Inbound, Outbound, Request
from otel_mcp.resilience._result import CallResult
from otel_mcp.resilience._signal import News
from otel_mcp.resilience._spawn import spawn

logger = logging.getLogger("otel_mcp.resilience")

_CANCEL_NOTICE = 1.0
"""Seconds that telling the server about a cut-off may take; nobody waits for it."""


class Connection:
    """Opened by `start`; ready once the handshake is done; ends by `stop`, by the peer, or by its transport.

    `background` runs beside the session while it is ready. `news` is spread at every change.
    """

    def __init__(
        self,
        name: str,
        generation: int,
        target: _sdk.Target,
        reason: str,
        news: News,
        background: Callable[[Connection], Coroutine[Any, Any, None]],
    ) -> None:
        self.name = name
        self.generation = generation
        self.reason = reason
        self.session: Any = None
        self.revision: str | None = None
        self.ready_at: float | None = None
        self.requests: set[Request] = set()
        self.abandoned: dict[Request, float] = {}
        """Cut off, and perhaps still at work over there: until when no new request may follow."""
        self.end_reason: str | None = None
        self.end_cause = "reconnect"
        self.failure: BaseException | None = None
        self.http_status: int | None = None
        """Of the last POST that failed."""
        self._target = target
        self._news = news
        self._background = background
        self._stopping = anyio.Event()
        self._flight = Flight(self._live, math.inf, name=f"otel_mcp {name} generation {generation}")

    @property
    def usable(self) -> bool:
        """Whether requests may be sent."""
        return self.ready_at is not None and self.end_reason is None

    @property
    def over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self._flight.over.is_set()

    def start(self) -> None:
        self._flight.start()

    def stop(self, reason: str, cause: str = "reconnect", *, by_peer: bool = False) -> None:
        """End it; each open request is told at once. The first reason counts."""
        if self.end_reason is not None:
            return
        self.end_reason, self.end_cause = reason, cause
        self._stopping.set()
        for request in list(self.requests):
            error = ReconnectedDuringCall(self.name, reason, sent=request.sent, cause=cause)
            # When the peer went, the SDK wakes its own waiters, so that they end as what they are: disconnected.
            # When we go, 1.x does not, and a request that nobody wakes has to be cancelled.
            request.flight.interrupt(error, gently=by_peer)
        self._news.spread()

    def abort(self) -> None:
        """Cancel what is left of it."""
        self._flight.interrupt(None)

    # --- requests -------------------------------------------------------------------------------------------------
    def abandon(self, request: Request, quiet_until: float) -> None:
        """`request` was cut off. If it is still unanswered over there, nothing follows it until `quiet_until`."""
        if request.sent is False or request.answered:
            return
        self.abandoned[request] = quiet_until
        ids = [request.wire_ids[key] for key in request.unanswered]
        if ids and not self._stopping.is_set():
            spawn(lambda: self._say_cancelled(ids), name="otel_mcp cancel notice")

    def quiet_until(self) -> float | None:
        """Until when requests have to wait for an abandoned one; None if they need not."""
        now = anyio.current_time()
        for request, until in list(self.abandoned.items()):
            if until <= now or request.flight.answered.is_set() or request.answered:
                del self.abandoned[request]
        return max(self.abandoned.values(), default=None)

    def judge(self, result: CallResult, *, probe: bool = False) -> None:
        """End it if this result shows that it is of no use any more."""
        if result.outcome is Outcome.DISCONNECTED:
            if result.error_type == "session_expired":
                self.stop("session_expired", "http_404")
            elif not (result.cause or "").startswith("http_"):
                self.stop("transport", result.cause or "stream_ended")
            elif probe:
                self.stop("auth" if result.cause in ("http_401", "http_403") else "keepalive", result.cause or "")
        elif result.outcome is Outcome.DEADLINE and probe:
            self.stop("keepalive")
        elif result.left_behind or result.phase == "write":
            # Our half of the stream is in the hands of a task that does not let go, or full.
            self.stop("recycle")

    async def _say_cancelled(self, ids: list[Any]) -> None:
        try:
            with anyio.move_on_after(_CANCEL_NOTICE):
                for wire_id in ids:
                    await _sdk.say_cancelled(self.session, wire_id)
        except Exception:  # noqa: BLE001, S110 - a courtesy to a server that may be gone
            pass

    # --- life -----------------------------------------------------------------------------------------------------
    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                with _report.sink.connecting(self.name, self.reason):
                    await self._open(stack)
                self._news.spread()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._beside)
                    await self._stopping.wait()
                    group.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - whatever ends a transport is a fact about it, told in `failure`
            self.failure = error
        finally:
            self._lost()
            self._news.spread()
            # The flight's own end comes a moment after this; whoever waits for `over` has to look again then.
            spawn(self._announce_end, name="otel_mcp end of connection")

    async def _beside(self) -> None:
        try:
            await self._background(self)
        except Exception:
            # A fault of ours costs the probes, not the session.
            logger.exception("connector %r: the keepalive of generation %d stopped", self.name, self.generation)

    async def _open(self, stack: AsyncExitStack) -> None:
        read, write = await stack.enter_async_context(_sdk.open_streams(self._target, self._saw_status))
        inbound = Inbound(read, self._answered, self._lost)
        session = await stack.enter_async_context(_sdk.new_session(inbound, Outbound(write)))
        self.revision = await _sdk.handshake(session)
        self.session = session
        self.ready_at = anyio.current_time()

    async def _announce_end(self) -> None:
        await self._flight.over.wait()
        self._news.spread()

    def _saw_status(self, status: int) -> None:
        self.http_status = status

    def _answered(self, wire_id: str | None) -> None:
        if wire_id is None:
            return
        for request in (*self.requests, *self.abandoned):
            if wire_id in request.unanswered:
                request.unanswered.discard(wire_id)
                self._news.spread()

    def _lost(self) -> None:
        """The peer or the transport ended it. Each open request learns it here, in whatever state the SDK is."""
        reason, cause = "transport", "stream_ended"
        status = self.http_status
        if status is None and self.failure is not None:
            status = _classify.http_status(_classify.unwrapped(self.failure))
        if status is not None:
            cause = verdicts.http_cause(status)
            reason = {401: "auth", 403: "auth", 404: "session_expired"}.get(status, reason)
        self.stop(reason, cause, by_peer=True)
