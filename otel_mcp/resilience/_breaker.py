"""A circuit breaker that counts only what speaks about reachability.

::

    closed ──threshold strikes──> open ──cool-down over──> half_open ──an answer──> closed
                                    ^                          │
                                    └──────── a strike ────────┘

An answer of any kind proves that the server is there: it clears the strikes and closes the breaker, also when it
belongs to a call that was let through before the breaker opened.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final

import anyio

from otel_mcp._ground.names import STRIKE_CAUSES
from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience import _report
from otel_mcp.resilience._deadline import check_seconds
from otel_mcp.resilience._errors import BreakerOpen, CooldownOutlastsRun

logger = logging.getLogger("otel_mcp.resilience")

DEFAULT_STRIKES: Final = frozenset({"deadline", "transport"})
"""Deadlines of requests that were sent, transport failures and lost sessions. Not ``isError`` results and JSON-RPC
errors, which prove the server reachable; not lock waits, which speak about us; not rate limits, which a server that
is alive sends."""

_ANSWERED: Final = frozenset({Outcome.OK, Outcome.TOOL_ERROR, Outcome.ERROR})


@dataclass(frozen=True)
class Strike:
    """One counted failure: seconds on anyio's clock, and its cause."""

    time: float
    cause: str


@dataclass(frozen=True)
class BreakerStatistics:
    """A snapshot. Times in seconds; absolute ones on anyio's clock."""

    state: str
    strikes: tuple[Strike, ...]
    """Counted since the last answer, oldest first."""
    opened_by: Mapping[str, int]
    """The mix of causes that opened it last; empty if it never opened."""
    opened_at: float | None
    seconds_left: float
    """Until the cool-down ends; 0 unless open."""
    opened: int
    """How often it opened."""
    refused: int
    probes: int
    ignored: Mapping[str, int]
    """Failures that did not count, by cause: not in the setting, or part of a burst."""


class CircuitBreaker:
    """One connector's breaker; for one event loop, not for threads.

    `threshold` strikes without an answer between them open it for `cooldown` seconds; `strikes` names the causes that
    count, out of `otel_mcp.breaker.cause`. `run_budget`, in seconds, is how long the whole run may take: a cool-down
    that is not shorter warns with `CooldownOutlastsRun`.

    Raises ValueError for values that make no sense.
    """

    def __init__(
        self,
        name: str,
        *,
        threshold: int = 3,
        cooldown: float = 60.0,
        strikes: Iterable[str] = DEFAULT_STRIKES,
        run_budget: float | None = None,
    ) -> None:
        if isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 1:
            raise ValueError(f"threshold must be a whole number of 1 or more, got {threshold!r}")
        check_seconds("cooldown", cooldown)
        self.name = name
        self.threshold = threshold
        self.cooldown = float(cooldown)
        self.counted = _known_causes(strikes)
        if run_budget is not None and cooldown >= run_budget:
            warnings.warn(
                f"breaker {name!r}: a cool-down of {cooldown:g} s is not shorter than the run's budget of "
                f"{run_budget:g} s, so once open it refuses for the rest of the run; make the cool-down shorter",
                CooldownOutlastsRun,
                stacklevel=2,
            )
        self._strikes: list[Strike] = []
        self._opened_at: float | None = None
        self._opened_by: dict[str, int] = {}
        self._open_cause = ""
        self._probe: Permit | None = None
        # Numbers the counted strikes: a failure counts only if no strike has been counted since its attempt began.
        self._serial = 0
        self._opened = self._refused = self._probes = 0
        self._ignored: Counter[str] = Counter()
        self._hook = _report.sink.breaker(name)

    @property
    def state(self) -> str:
        """``closed``, ``open``, or, from the end of the cool-down on, ``half_open``. Needs a running event loop."""
        if self._opened_at is None:
            return "closed"
        return "open" if self._seconds_left() > 0 else "half_open"

    def statistics(self) -> BreakerStatistics:
        """A frozen snapshot. Needs a running event loop."""
        return BreakerStatistics(
            state=self.state,
            strikes=tuple(self._strikes),
            opened_by=dict(self._opened_by),
            opened_at=self._opened_at,
            seconds_left=self._seconds_left(),
            opened=self._opened,
            refused=self._refused,
            probes=self._probes,
            ignored=dict(self._ignored),
        )

    def admit(self, limit: float | None = None) -> Permit:
        """Let one call through, or raise `BreakerOpen`.

        Use the permit as a context manager around the call; leaving it frees the probe's slot whatever happened.
        `limit`, in seconds, is how long the call may take: others are told it while this one is the probe.
        """
        state = self.state
        if state == "closed":
            return Permit(self, probe=False, limit=None)
        if state == "open" or self._probe is not None:
            self._refused += 1
            raise self._refusal()
        self._probes += 1
        self._probe = Permit(self, probe=True, limit=limit)
        self._hook.state("half_open", cause=self._open_cause, strikes=dict(self._opened_by))
        return self._probe

    def _refusal(self) -> BreakerOpen:
        left = self._seconds_left()
        if self._probe is not None:
            left = self._probe.seconds_left()
        return BreakerOpen(self.name, cause=self._open_cause, strikes=self._opened_by, seconds_left=left)

    def _seconds_left(self) -> float:
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self.cooldown - anyio.current_time())

    def _answered(self) -> None:
        self._strikes.clear()
        if self._opened_at is None:
            return
        self._opened_at = None
        logger.info("breaker %r closed: the server answered", self.name)
        self._hook.state("closed")

    def _struck(self, permit: Permit, cause: str) -> None:
        burst = permit.serial != self._serial
        if cause not in self.counted or burst:
            self._ignored[cause] += 1
            return
        self._serial += 1
        permit.serial = self._serial
        self._strikes.append(Strike(anyio.current_time(), cause))
        self._hook.strike(cause)
        if permit.is_probe or (self._opened_at is None and len(self._strikes) >= self.threshold):
            self._open(cause)

    def _open(self, cause: str) -> None:
        self._opened_at = anyio.current_time()
        self._opened_by = dict(Counter(strike.cause for strike in self._strikes))
        self._open_cause = cause
        self._opened += 1
        logger.warning(
            "breaker %r opened for %g s after %s (strikes: %s)", self.name, self.cooldown, cause, self._opened_by
        )
        self._hook.state("open", cause=cause, strikes=dict(self._opened_by), cooldown=self.cooldown)

    def _freed(self, permit: Permit) -> None:
        if self._probe is permit:
            self._probe = None


class Permit:
    """Leave to make one call, given by `CircuitBreaker.admit`; its attempts report here."""

    def __init__(self, breaker: CircuitBreaker, *, probe: bool, limit: float | None) -> None:
        self._breaker = breaker
        self.is_probe = probe
        self.state = "half_open" if probe else "closed"
        self.serial = breaker._serial
        self._until = anyio.current_time() + (breaker.cooldown if limit is None else limit)

    def begin(self) -> None:
        """An attempt starts now: what it sees is news even if there were strikes before."""
        self.serial = self._breaker._serial

    def answered(self) -> None:
        """The server sent something back, be it an error."""
        self._breaker._answered()

    def strike(self, cause: str) -> None:
        """The attempt failed; whether that counts is the breaker's setting."""
        self._breaker._struck(self, cause)

    def record(self, outcome: Outcome, cause: str | None) -> None:
        """Report an attempt by its outcome; `cause` is the strike's, None if it cannot count."""
        # A result proves the server reachable. Where the setting counts it all the same, it is a strike by policy.
        if outcome in _ANSWERED and cause not in self._breaker.counted:
            self.answered()
        elif cause is not None:
            self.strike(cause)

    def seconds_left(self) -> float:
        """Until this call's own limit."""
        return max(0.0, self._until - anyio.current_time())

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._breaker._freed(self)


def _known_causes(causes: Iterable[str]) -> frozenset[str]:
    counted = frozenset([causes] if isinstance(causes, str) else causes)
    unknown = sorted(counted - set(STRIKE_CAUSES))
    if unknown:
        raise ValueError(f"strikes: {', '.join(unknown)} is no cause; use some of {', '.join(STRIKE_CAUSES)}")
    return counted
