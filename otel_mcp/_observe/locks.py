"""Locks around requests: who waits, for how long, and who held the lock when the wait began."""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import LOCK, Call, Connector, now
from otel_mcp._observe import calls
from otel_mcp._record.recorder import recorder


@dataclass(slots=True, eq=False)
class WatchedLock:
    """One lock of a connector, as its users report it."""

    connector: Connector
    name: str
    holders: list[str] = field(default_factory=list)
    """What was said about those inside, in the order in which they came in."""

    def waits(self, what: str | None) -> Wait:
        """Somebody begins to wait."""
        call = calls.CURRENT.get()
        call = call if call is not None and not call.ended else None
        what = what or (f"{call.target or call.method} on {call.name}" if call is not None else None)
        wait = Wait(self, call, now(), what or f"unknown on {self.connector.name}")
        with ledger.lock:
            self.connector.lock_waiting += 1
        if call is not None:
            wait.phase = call.phase
            call.enter(LOCK, wait.began)
            if self.holders:
                call.lock_holder = self.holders[0]
        return wait


@dataclass(slots=True, eq=False)
class Wait:
    """One acquisition, from the wish to the release."""

    lock: WatchedLock
    call: Call | None
    began: float
    what: str
    phase: str = LOCK
    over: bool = False

    def ended(self, *, acquired: bool) -> None:
        """The wait is over: the lock is held, or the wish was given up."""
        if self.over:
            return
        self.over = True
        moment = now()
        lock = self.lock
        with ledger.lock:
            lock.connector.lock_waiting -= 1
        if acquired:
            lock.holders.append(self.what)
            recorder.lock_waited(lock.connector, lock.name, moment - self.began)
            # Given up in the queue: the call stays in the phase `lock`, which is where its time went.
            if self.call is not None and not self.call.ended:
                self.call.enter(self.phase, moment)

    def released(self) -> None:
        """The holder let go."""
        if self.what in self.lock.holders:
            self.lock.holders.remove(self.what)
