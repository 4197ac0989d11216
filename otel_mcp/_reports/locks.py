"""Locks around a connector's requests."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from otel_mcp._ground.guard import guarded
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import scopes
from otel_mcp._observe.locks import Wait, WatchedLock


class AsyncLock(Protocol):
    """`asyncio.Lock`, `anyio.Lock`, `anyio.Semaphore` and the like."""

    async def acquire(self) -> Any:
        """Wait until the lock is free and take it."""

    def release(self) -> Any:
        """Let go."""


_watched: dict[tuple[int, str], tuple[Callable[[], Any], WatchedLock]] = {}
"""By the lock's identity and the connector, with a reference to the lock: an identity is given again to another."""
_MAX_WATCHED = 1000
"""Locks whose holder is remembered between acquisitions; further ones report their waits without a holder."""


def _watch(lock: Any, connector: str, name: str) -> WatchedLock:
    key = (id(lock), connector)
    found = _watched.get(key)
    if found is not None and found[0]() is lock and _is_known(found[1]):
        return found[1]
    entry = ledger.connector(connector)
    entry.registered = True
    watched = WatchedLock(entry, name)
    if len(_watched) < _MAX_WATCHED or key in _watched:
        _watched[key] = (_reference(lock, key), watched)
    return watched


def _reference(lock: Any, key: tuple[int, str]) -> Callable[[], Any]:
    """Gives the lock, and does not keep it where it allows that: its entry goes with it."""

    def forget(_: object, pop: Callable[..., Any] = _watched.pop) -> None:
        # Runs before the lock's memory, and with it the identity, can be given to another lock.
        pop(key, None)

    try:
        return weakref.ref(lock, forget)
    except TypeError:  # a class with slots and none for weak references
        return lambda: lock


def _is_known(watched: WatchedLock) -> bool:
    """Not so after a fork: the child's ledger has other connectors, and what waits would be counted nowhere."""
    return ledger.connectors.get(watched.connector.name) is watched.connector


class _Holding(AbstractAsyncContextManager[None]):
    """One acquisition of somebody else's lock."""

    def __init__(self, lock: Any, connector: str, name: str, holder: str | None) -> None:
        self._lock = lock
        self._of = (connector, name, holder)
        self._wait: Wait | None = None

    async def __aenter__(self) -> None:
        connector, name, holder = self._of
        with guarded("locks", "a lock wait"):
            scopes.first_use()
            self._wait = _watch(self._lock, connector, name).waits(holder)
        acquired = False
        try:
            await self._lock.acquire()
            acquired = True
        finally:
            if self._wait is not None:
                with guarded("locks", "a lock wait"):
                    self._wait.end(acquired=acquired)

    async def __aexit__(self, *details: object) -> None:
        if self._wait is not None:
            with guarded("locks", "a lock's holder"):
                self._wait.released()
        self._lock.release()


def lock(
    lock: AsyncLock, connector: str, name: str = "rpc", *, holder: str | None = None
) -> AbstractAsyncContextManager[None]:
    """Acquire a lock for the block and report the wait, with whom it was for.

    `holder` says who takes it, where no call is open in this context: ``tools/list on odoo``. Raises whatever the
    lock's own `acquire` and `release` raise.
    """
    return _Holding(lock, connector, name, holder)


def _nobody_knows() -> None:
    return None


class Lock:
    """A drop-in for `asyncio.Lock` that reports waits and holders. `inner` may be any lock of that shape.

    `method` is asked, at each acquisition outside a call, for the method that the lock is taken for: ``tools/list``.
    """

    def __init__(
        self,
        connector: str,
        name: str = "rpc",
        inner: Any = None,
        *,
        method: Callable[[], str | None] | None = None,
    ) -> None:
        self._inner = inner if inner is not None else asyncio.Lock()
        self._of = (connector, name)
        self._method = method or _nobody_knows
        self._watched: WatchedLock | None = None
        self._holding: list[Wait] = []
        with guarded("locks", "a lock"):
            self._watched = _watch(self._inner, connector, name)

    async def acquire(self) -> Any:
        """Wait until the lock is free and take it; returns what the inner lock returns."""
        wait: Wait | None = None
        with guarded("locks", "a lock wait"):
            if self._watched is not None and not _is_known(self._watched):
                self._watched = _watch(self._inner, *self._of)
            wait = self._watched.waits(None, self._method()) if self._watched is not None else None
        acquired = False
        try:
            result = await self._inner.acquire()
            acquired = True
            return result
        finally:
            if wait is not None:
                with guarded("locks", "a lock wait"):
                    wait.end(acquired=acquired)
                if acquired:
                    self._holding.append(wait)

    def release(self) -> Any:
        """Let go; raises what the inner lock raises."""
        result = self._inner.release()
        if self._holding:
            with guarded("locks", "a lock's holder"):
                self._holding.pop(0).released()
        return result

    def locked(self) -> bool:
        """Whether somebody holds the lock."""
        return bool(self._inner.locked())

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *details: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
