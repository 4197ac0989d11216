"""Connects and connector states, as a host announces them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import scopes


class Connect(AbstractContextManager["Connect"]):
    """Transports and sessions opened inside the block belong to this connector, and connect for this reason."""

    def __init__(self, connector: str, reason: str | None, *, sure: bool) -> None:
        if not sure:
            with guarded("hooks", "why a connector connects"):
                reason = ledger.connector(connector).last_end or reason
        self._scope = scopes.Connecting(connector, reason if reason in n.CONNECT_REASONS else None)
        self._token: Any = None

    def __enter__(self) -> Connect:
        self._token = scopes.CONNECTING.set(self._scope)
        return self

    def __exit__(self, *details: object) -> None:
        self._scope.open = False
        scopes.leave(scopes.CONNECTING, self._token)


def connecting(connector: str, reason: str | None = None, *, sure: bool = True) -> Connect:
    """Announce a connect; `reason` is one of the contract's, None where the host does not know it.

    Not `sure`: what was seen of the last session's end (an HTTP 401, a session that was forgotten) goes before it.
    """
    return Connect(connector, reason, sure=sure)


def state(connector: str, state: str | None) -> None:
    """Say what a connector is while no session is open: ``parked``, ``reconnecting``, ``failed``, ``closed``.

    A new session of the connector takes this back, and so does None.
    """
    with guarded("hooks", "a connector's state"):
        if state is None or state in n.CONNECTOR_STATES:
            scopes.first_use()  # without the lock: another thread's start-up may be waited for, and may need it
            with ledger.lock:
                entry = ledger.connector(connector)
                entry.registered = True
                entry.said_state = state


def tools(connector: str, count: int) -> None:
    """Say how many tools of a connector the host offers now."""
    with guarded("hooks", "a number of tools"), ledger.lock:
        ledger.connector(connector).tools = count
