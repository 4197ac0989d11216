"""Hermes' circuit breaker: two dictionaries by server name, read as they are; strikes with their cause."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch


class Breakers:
    """All breakers of the process. Hermes' own state is only ever read."""

    READS: Final = (
        "_server_error_counts",
        "_server_breaker_opened_at",
        "_CIRCUIT_BREAKER_THRESHOLD",
        "_CIRCUIT_BREAKER_COOLDOWN_SEC",
    )

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._known: dict[str, hooks.Breaker] = {}
        self._mix: dict[str, Counter[str]] = {}
        """Strikes since the count last began at 0, by cause."""

    def register(self, server: str) -> hooks.Breaker:
        """The breaker of a server; from now on it is there on a scrape."""
        found = self._known.get(server)
        if found is None:
            found = self._known[server] = hooks.breaker(server)
            found.observe(functools.partial(self.read, server))
        return found

    def read(self, server: str) -> str:
        """The state as Hermes' gate would see it now, by the same reading of the same variables."""
        if self._count(server) < getattr(self._module, "_CIRCUIT_BREAKER_THRESHOLD", float("inf")):
            return "closed"
        # Hermes takes a missing time stamp for one at the clock's zero.
        age = time.monotonic() - self._opened_at(server)
        return "open" if age < self._cooldown else "half_open"

    def sync(self, server: str) -> str:
        """Tell the state as it is now: the end of a cool-down, or a count that was set without the helper."""
        breaker = self.register(server)
        state = self.read(server)
        if not self._count(server):
            self._mix.pop(server, None)
        breaker.state(state)
        return state

    def wrap_strike(self, original: Any, cause: Callable[[], str], switch: Switch) -> Any:
        """For `_bump_server_error`: one strike."""

        @functools.wraps(original)
        def _bump_server_error(server: str, *args: Any, **kwargs: Any) -> Any:
            if switch.on:
                with guarded("hermes", "a breaker's state"):
                    self.sync(server)
            result = original(server, *args, **kwargs)
            if switch.on:
                with guarded("hermes", "a breaker's strike"):
                    self._struck(server, cause())
            return result

        return _bump_server_error

    def wrap_reset(self, original: Any, switch: Switch) -> Any:
        """For `_reset_server_error`: closed."""

        @functools.wraps(original)
        def _reset_server_error(server: str, *args: Any, **kwargs: Any) -> Any:
            result = original(server, *args, **kwargs)
            if switch.on:
                with guarded("hermes", "a breaker's state"):
                    self.sync(server)
            return result

        return _reset_server_error

    def _struck(self, server: str, cause: str) -> None:
        breaker = self.register(server)
        breaker.strike(cause)
        mix = self._mix.setdefault(server, Counter())
        mix[cause] += 1
        state = self.read(server)
        if state == "open":
            breaker.state(
                state,
                cause=cause,
                strikes=mix,
                cooldown=self._cooldown,
                half_open_at=self._opened_at(server) + self._cooldown,
            )

    def _count(self, server: str) -> int:
        return int(getattr(self._module, "_server_error_counts", {}).get(server, 0))

    def _opened_at(self, server: str) -> float:
        return float(getattr(self._module, "_server_breaker_opened_at", {}).get(server, 0.0))

    @property
    def _cooldown(self) -> float:
        return float(getattr(self._module, "_CIRCUIT_BREAKER_COOLDOWN_SEC", 0.0))
