"""One request of ours on a session, and the taps on the session's streams that see how far it got.

A tap names the stream beneath it `__wrapped__`, as wrappers do: whoever knows a transport by its stream finds it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import anyio

from otel_mcp.resilience._flight import Flight

_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)

current: contextvars.ContextVar[Request | None] = contextvars.ContextVar("otel_mcp_request", default=None)


class Request:
    """A request under way: what it asks, the flight that asks it, and what the wire has seen of it.

    `sent` is False until the transport has been offered the message, None while the write is under way or if it was
    interrupted, True once the transport took it. `unanswered` holds the ids of messages without an answer: a call may
    have several, because the SDK lists tools inside a call to validate its result.
    """

    def __init__(self, method: str, send: Callable[[], Awaitable[Any]], limit: float) -> None:
        self.method = method
        self.sent: bool | None = False
        self.unanswered: set[str] = set()
        self.wire_ids: dict[str, Any] = {}
        self._send = send
        self.flight = Flight(self._run, limit, name=f"otel_mcp {method}")

    @property
    def answered(self) -> bool:
        """Whether the peer has answered all that was sent."""
        return self.sent is True and not self.unanswered

    async def _run(self) -> Any:
        current.set(self)
        return await self._send()


class Outbound:
    """A write stream that notes for the request at hand whether the transport took its message."""

    def __init__(self, inner: Any) -> None:
        self.__wrapped__ = inner

    async def send(self, item: Any) -> None:
        request = current.get()
        wire_id = _request_id(item)
        if request is None or wire_id is None:
            await self.__wrapped__.send(item)
            return
        first = not request.wire_ids
        key = str(wire_id)
        if first:
            request.sent = None
        try:
            await self.__wrapped__.send(item)
        except _GONE:
            if first:
                request.sent = False
            raise
        request.wire_ids[key] = wire_id
        request.unanswered.add(key)
        request.sent = True

    async def aclose(self) -> None:
        await self.__wrapped__.aclose()

    async def __aenter__(self) -> Outbound:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        closed: bool | None = await self.__wrapped__.__aexit__(exc_type, error, traceback)
        return closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


class Inbound:
    """A read stream that tells which request was answered, and when there is nothing more to read."""

    def __init__(self, inner: Any, on_message: Callable[[str | None], None], on_end: Callable[[], None]) -> None:
        self.__wrapped__ = inner
        self._on_message = on_message
        self._on_end = on_end

    async def receive(self) -> Any:
        try:
            item = await self.__wrapped__.receive()
        except _GONE:
            self._on_end()
            raise
        self._on_message(_answered_id(item))
        return item

    def __aiter__(self) -> Inbound:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self.__wrapped__.aclose()

    async def __aenter__(self) -> Inbound:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        closed: bool | None = await self.__wrapped__.__aexit__(exc_type, error, traceback)
        return closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


def _message(item: Any) -> Any:
    """The JSON-RPC message: 1.x wraps it once more than 2.x."""
    message = getattr(item, "message", None)
    return getattr(message, "root", message)


def _request_id(item: Any) -> Any:
    message = _message(item)
    return getattr(message, "id", None) if getattr(message, "method", None) is not None else None


def _answered_id(item: Any) -> str | None:
    message = _message(item)
    wire_id = getattr(message, "id", None)
    # A server may send the number back as text.
    return None if wire_id is None or getattr(message, "method", None) is not None else str(wire_id)
