"""What a layer above says about the sessions opened inside it, and the moment everything starts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, Final

from otel_mcp._ledger.model import Attempt, Session


@dataclass
class Connecting:
    """A connect that a host announced: the connector's own name, and why it connects."""

    connector: str
    reason: str | None = None
    session: Session | None = None
    open: bool = True
    """The host is still inside. Tasks begun inside see this scope for as long as they live."""


NAME: Final[ContextVar[str | None]] = ContextVar("otel_mcp_connector", default=None)
"""Name given by `otel_mcp.connector(...)`."""
CONNECTING: Final[ContextVar[Connecting | None]] = ContextVar("otel_mcp_connecting", default=None)
PROBE: Final[ContextVar[str | None]] = ContextVar("otel_mcp_probe", default=None)
"""The method by which a layer above probes in this context."""


def leave(variable: ContextVar[Any], token: Token[Any] | None) -> None:
    """Set a variable back. A coroutine that was closed from another context has nothing of ours to set back there."""
    if token is not None:
        try:  # noqa: SIM105 - contextlib.suppress costs twice as much, and this runs at every call
            variable.reset(token)
        except ValueError:
            pass


starters: list[Callable[[], None]] = []
"""What has to run before the first session or connector is registered."""
_orphan_listeners: list[Callable[[Attempt], None]] = []


def on_first_use(start: Callable[[], None]) -> None:
    """Call `start` whenever a session or connector is about to be registered; it has to be cheap and idempotent."""
    if start not in starters:
        starters.append(start)


def first_use() -> None:
    """A session or connector is about to be registered: start what has to run."""
    for start in starters:
        start()


@contextlib.contextmanager
def nothing_starts() -> Iterator[None]:
    """Set aside what is to be started at first use, for the length of the block."""
    aside = starters[:]
    starters.clear()
    try:
        yield
    finally:
        starters[:] = aside


def on_orphan(tell: Callable[[Attempt], None]) -> None:
    """Call `tell` with each request that was orphaned, at its teardown."""
    if tell not in _orphan_listeners:
        _orphan_listeners.append(tell)


def forget_orphan(tell: Callable[[Attempt], None]) -> None:
    """The inverse of `on_orphan`."""
    if tell in _orphan_listeners:
        _orphan_listeners.remove(tell)


def orphaned(attempt: Attempt) -> None:
    """A request was orphaned."""
    for tell in _orphan_listeners:
        tell(attempt)
