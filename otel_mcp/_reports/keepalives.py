"""Keepalive probes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._observe import scopes


class Keepalive(AbstractContextManager["Keepalive"]):
    """Requests of this method inside the block are probes: roots, linked to the calls they overlap."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._token: Any = None

    def __enter__(self) -> Keepalive:
        self._token = scopes.PROBE.set(self._method)
        return self

    def __exit__(self, *details: object) -> None:
        scopes.leave(scopes.PROBE, self._token)


def keepalive(connector: str, method: str = n.PING) -> Keepalive:
    """Report a keepalive probe of a connector; `method` is ``ping`` or ``tools/list``."""
    return Keepalive(method)
