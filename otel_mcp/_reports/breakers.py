"""Circuit breakers, as their owners report them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import now
from otel_mcp._observe import scopes
from otel_mcp._record.events import seconds
from otel_mcp._record.recorder import recorder


class Breaker:
    """The breaker of one connector. All states but the reported one are 0 on a scrape."""

    def __init__(self, connector: str) -> None:
        self._name = connector
        scopes.first_use()
        with ledger.lock:
            self._connector = ledger.connector(connector)
            self._connector.registered = True
            self._entry = ledger.breaker(self._connector)

    def observe(self, read: Callable[[], str]) -> None:
        """Read the state with this function on each scrape: ``closed``, ``half_open`` or ``open``."""
        self._entry.read = read

    def strike(self, cause: str) -> None:
        """A failure was held against the connector. Unknown causes count as ``unknown``."""
        with guarded("breakers", "a strike"), ledger.lock:
            cause = cause if cause in self._entry.strikes else n.UNKNOWN
            self._entry.strikes[cause] += 1

    def state(
        self,
        state: str,
        *,
        cause: str | None = None,
        strikes: Mapping[str, int] | None = None,
        cooldown: float | None = None,
        half_open_at: float | None = None,
    ) -> None:
        """The breaker is in this state from now on; a change counts as a transition.

        `cause` is what tipped it, `strikes` the mix of causes, `cooldown` seconds until one call is let through;
        `half_open_at` the same as a moment of `time.monotonic()`.
        """
        with guarded("breakers", "a transition"):
            if state not in n.BREAKER_STATES:
                return
            entry = self._entry
            with ledger.lock:
                before, entry.state = entry.state, state
                if state == "open":
                    entry.half_open_at = half_open_at if half_open_at is not None else _after(cooldown)
                if before == state:
                    return
                entry.entered[state] += 1
            fields = {
                "from": before,
                "to": state,
                "cause": cause,
                "strikes": dict(strikes or {}),
                "cooldown": seconds(cooldown),
            }
            recorder.event("breaker", time.time_ns(), self._name, None, fields)


def _after(cooldown: float | None) -> float | None:
    return None if cooldown is None else now() + cooldown


def breaker(connector: str) -> Breaker:
    """The breaker of a connector; asking twice gives the same counts."""
    return Breaker(connector)
