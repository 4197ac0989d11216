"""How often and how fast a connector reconnects: arithmetic, and the clock that shows a sleep of the machine."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import anyio

from otel_mcp.resilience._deadline import check_seconds


@dataclass(frozen=True)
class ReconnectPolicy:
    """Seconds, except `attempts`; docs/resilience/defaults.md says why these values."""

    base: float = 1.0
    """Upper end of the wait before the first reconnect; it doubles with each one that health does not follow."""
    cap: float = 60.0
    attempts: int = 5
    """Reconnects in a row without an answered request between them, before the connector parks."""
    park_interval: float = 300.0
    """A parked connector tries by itself this often."""
    stagger: float = 10.0
    """After a jump of the clock, reconnects of all connectors are spread over this long."""

    def __post_init__(self) -> None:
        for name in ("base", "cap", "park_interval", "stagger"):
            check_seconds(name, getattr(self, name))
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 0:
            raise ValueError(f"attempts must be a whole number of 0 or more, got {self.attempts!r}")


class Budget:
    """Reconnects that may still be made before parking. Health restores all of it."""

    def __init__(self, policy: ReconnectPolicy) -> None:
        self._policy = policy
        self._used = 0

    @property
    def left(self) -> int:
        return max(0, self._policy.attempts - self._used)

    def health(self) -> None:
        """A request was answered. A handshake is not enough: a server that dies right after it would never park."""
        self._used = 0

    def spend(self) -> float | None:
        """The wait before the next connect, in seconds; None when there is none left: park."""
        if self.left == 0:
            return None
        self._used += 1
        widest = min(self._policy.cap, self._policy.base * 2.0 ** min(self._used - 1, 60))
        return random.uniform(0.0, widest)  # noqa: S311 - spreading load needs no secret


class ClockJump:
    """Whether the wall clock ran ahead of anyio's: the machine slept, and all that fails now has one local cause."""

    TOLERANCE = 5.0
    """Seconds. Clock corrections stay below it; a lid that was closed does not."""
    RECENT = 60.0
    """Seconds for which a jump explains failures: connections fail when they are next used, not on waking."""

    def __init__(self) -> None:
        self._offset = wall() - anyio.current_time()
        self._jumped_at: float | None = None

    def recently(self) -> bool:
        """Look at both clocks now; True if they have parted within the last minute."""
        now = anyio.current_time()
        offset = wall() - now
        if offset - self._offset > self.TOLERANCE:
            self._jumped_at = now
        self._offset = offset
        return self._jumped_at is not None and now - self._jumped_at <= self.RECENT


def wall() -> float:
    """Seconds by the wall clock, which goes on while the machine sleeps; the monotonic one does not."""
    return time.time()
