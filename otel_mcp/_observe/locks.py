"""Locks around requests: who waits, for how long, and who held the lock when the wait began."""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_mcp._ground import names as n
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import LOCK, Call, now
from otel_mcp._observe import calls, loops
from otel_mcp._record.recorder import recorder


@dataclass(slots=True, eq=False)
class WatchedLock:
    """One lock of a connector, as its users report it."""

    connector: Connector
    name: str
    holders: list[str] = field(default_factory=list)
    """What was said about those inside, in the order in which they came in."""

    def waits(self, what: str | None, method: str | None = None) -> Wait:
        """Somebody begins to wait: `what` in words, or the method of a request that belongs to no call."""
        call = calls.CURRENT.get()
        call = call if call is not None and not call.ended else None
        doing = (call.target or call.method) if call is not None else method or n.UNKNOWN
        wait = Wait(self, call, now(), what or f"{doing} on {call.name if call is not None else self.connector.name}")
        wait.holder = self.holders[0] if self.holders else None
        with ledger.lock:
            self.connector.lock_waiting += 1
        if call is not None:
            wait.phase = call.phase
            call.enter(LOCK, wait.began)
            call.lock_holder = wait.holder or call.lock_holder
        elif wait.holder is not None:
            wait.method = method
            wait.loop = loops.current()
            ledger.lock_waits.add(wait)
            ledger.opened()
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
    holder: str | None = None
    """Who held the lock when the wait began."""
    method: str | None = None
    """Of the request that it is for, where that belongs to no call."""
    loop: loops.Loop | None = None
    next_report: float = 0.0

    @property
    def started(self) -> float:
        """When the wait began, by the name that everything the watcher looks at has for it."""
        return self.began

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.over

    def end(self, *, acquired: bool) -> None:
        """The wait is over: the lock is held, or the wish was given up."""
        if self.over:
            return
        self.over = True
        moment = now()
        lock = self.lock
        with ledger.lock:
            lock.connector.lock_waiting -= 1
            ledger.lock_waits.discard(self)
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
