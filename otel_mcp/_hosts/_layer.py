"""What adapters share: whose session it is, and layers that stand on one another (agno calls through fastmcp)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from otel_mcp import hooks
from otel_mcp._ground import guard, targets
from otel_mcp._ground import names as n
from otel_mcp._ground.patching import Switch
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import BACKOFF, CONNECT, Call, now
from otel_mcp._observe import calls, scopes, sessions


@dataclass(frozen=True)
class Asked:
    """A call as a host's method was asked for it."""

    connector: str
    target: str | None
    """Tool or prompt name; None for resources."""
    method: str = n.TOOLS_CALL
    limit: float | None = None
    """Seconds, where the host's own clock enforces it; what it hands to the SDK is seen there."""
    idempotent: bool | None = None


Reads = Callable[[Any, tuple[Any, ...], dict[str, Any]], Asked | None]
"""From a host's object and the arguments of its method; None where there is nothing to report."""
Judges = Callable[[hooks.Call, Any, BaseException | None], None]
"""Told the host's object and what left its method, before the call ends: says what the SDK could not know."""


def connector_of(sdk_session: Any) -> str | None:
    """The connector that an SDK session was registered under; None for one that we have not seen."""
    session = sessions.of(sdk_session)
    return session.name if session is not None else None


def connecting(connector: str | None, reason: str | None = None) -> AbstractContextManager[Any]:
    """`hooks.connecting`, unless no name is known or a layer above has announced this connect already."""
    above = scopes.CONNECTING.get()
    if connector is None or (above is not None and above.open):
        return nullcontext()
    return hooks.connecting(connector, reason)


def wrap_call(original: Any, read: Reads, switch: Switch, judge: Judges | None = None) -> Any:
    """For a host's coroutine method that makes a call: what it was asked for is one call, whatever is tried beneath."""

    @functools.wraps(original)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        reported = _open(read, self, args, kwargs) if switch.on else None
        if reported is None:
            return await original(self, *args, **kwargs)
        with reported:
            try:
                result = await original(self, *args, **kwargs)
            except BaseException as error:
                _judge(judge, reported, self, error)
                raise
            _judge(judge, reported, self, None)
            return result

    return call


def _open(read: Reads, host: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> hooks.Call | None:
    try:
        asked = read(host, args, kwargs)
        if asked is None or calls.current(asked.method, asked.target) is not None:
            return None
        return hooks.call(
            asked.connector, tool=asked.target, method=asked.method, limit=asked.limit, idempotent=asked.idempotent
        )
    except Exception as error:  # noqa: BLE001 - the call is made without us
        guard.caught("hosts", "one call of a host", error)
        return None


def connects_first(original: Any) -> Any:
    """For a coroutine method given to `wrap_call` that may have to connect: until a session is asked, it connects."""

    @functools.wraps(original)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with guard.guarded("hosts", "the phase of a call"):
            reconnects()
        return await original(self, *args, **kwargs)

    return call


def _judge(judge: Judges | None, reported: hooks.Call, host: Any, error: BaseException | None) -> None:
    if judge is None:
        return
    try:
        judge(reported, host, error)
    except Exception as fault:  # noqa: BLE001 - the caller gets what the host gave whatever happens here
        guard.caught("hosts", "the outcome of one call of a host", fault)


def wrap_connect(original: Any, name: Callable[[Any], str | None], switch: Switch) -> Any:
    """For a host's coroutine method that connects: sessions opened inside belong to this connector."""

    @functools.wraps(original)
    async def connect(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        with connecting(_guarded(name, self)):
            return await original(self, *args, **kwargs)

    return connect


def _guarded(name: Callable[[Any], str | None], host: Any) -> str | None:
    try:
        return name(host)
    except Exception as error:  # noqa: BLE001 - the session gets a derived name
        guard.caught("hosts", "a connector's name", error)
        return None


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str) -> Any:
    """An argument given by position or by name; None without one."""
    return args[position] if len(args) > position else kwargs.get(name)


class Announced(AbstractAsyncContextManager[Any]):
    """A host's asynchronous context manager that connects when it is entered: `connecting` around that part only."""

    def __init__(self, opening: AbstractAsyncContextManager[Any], connector: str | None) -> None:
        self._opening = opening
        self._connector = connector

    async def __aenter__(self) -> Any:
        with connecting(self._connector):
            return await self._opening.__aenter__()

    async def __aexit__(self, *details: Any) -> Any:
        return await self._opening.__aexit__(*details)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opening, name)


def backs_off() -> None:
    """The host sleeps before it tries the call of this context again; its next attempt ends the phase."""
    _enter(BACKOFF)


def reconnects() -> None:
    """The host connects again before it tries the call of this context again; its next attempt ends the phase."""
    _enter(CONNECT)


def _enter(phase: str) -> None:
    call = calls.CURRENT.get()
    if call is not None and not call.ended:
        call.enter(phase, now())


def target_name(*, command: str | None = None, args: Iterable[Any] = (), url: str | None = None) -> str | None:
    """What a session on this target is called where nobody gives a name: for hosts that have none."""
    if url:
        return ledger.name_target(targets.safe_url(url), None, targets.from_url(url), None)
    if command:
        words = [str(word) for word in args]
        return ledger.name_target(" ".join([command, *words]), None, targets.from_command(command, words), None)
    return None


def not_sent(call: hooks.Call, error: BaseException | None) -> bool:
    """Whether the host failed before it asked a session: then the call is `rejected`. A time limit is none of that."""
    return isinstance(error, Exception) and call.attempts == 0 and not isinstance(error, TimeoutError)


def limited(call: Call | None, seconds: float | None) -> None:
    """The host starts its clock for the next try of this call."""
    if call is not None and not call.ended and seconds:
        call.limits["host"] = float(seconds)
        call.armed, call.armed_by = now(), "host"
        calls.limits_known(call)
