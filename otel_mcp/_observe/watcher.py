"""Tells of what hangs while it hangs.

One daemon thread. While nothing is open it sleeps without waking; while something is, it wakes when the oldest entry
is due, at most once every `still_waiting` seconds for young ones. It works while the event loop is blocked, because
it does not use it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

from otel_mcp._ground.guard import guarded
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Attempt, now
from otel_mcp._observe import loops, waiting
from otel_mcp._observe.locks import Wait
from otel_mcp._observe.waiting import Entry

_SOONEST: Final = 0.01
"""Seconds. Two entries due at nearly the same moment are reported in one waking."""


class Watcher:
    """Reports open calls and requests older than `still_waiting` seconds, then at doubling ages."""

    def __init__(self, still_waiting: float) -> None:
        self._threshold = still_waiting
        self._wanted = threading.Event()
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def opened(self) -> None:
        """Something was opened. Costs a flag while the thread is awake or will wake anyway."""
        if not self._wanted.is_set():
            self._wanted.set()
            if self._thread is None:
                self._start()

    def stop(self) -> None:
        """End the thread; nothing is reported any more."""
        self._end.set()
        self._wanted.set()

    def _start(self) -> None:
        with self._lock, guarded("watcher", "reports of what still waits"):
            if self._thread is None and not self._end.is_set():
                thread = threading.Thread(target=self._run, name="otel-mcp-watcher", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while not self._end.is_set():
            self._wanted.wait()
            pause = self._threshold
            with guarded("watcher", "one report of what still waits"):
                pause = self._look()
            if pause <= 0:
                self._wanted.clear()
                if self._anything():  # opened between the look and the clearing
                    self._wanted.set()
                continue
            self._end.wait(pause)

    def _look(self) -> float:
        """Report what is due; seconds until the next is, 0 if nothing is open."""
        soonest: float | None = None
        for entry in _open():
            moment = now()
            due = entry.next_report or entry.started + self._threshold
            if due - moment <= _SOONEST:
                self._report(entry)
                age = max(now() - entry.started, self._threshold)
                due = entry.next_report = entry.started + self._next_age(age)
            soonest = due if soonest is None else min(soonest, due)
        return 0.0 if soonest is None else max(soonest - now(), _SOONEST)

    def _next_age(self, age: float) -> float:
        doubled = self._threshold
        while doubled <= age + _SOONEST:
            doubled *= 2
        return doubled

    @staticmethod
    def _report(entry: Entry) -> None:
        loop = _loop_of(entry)
        blocked = loop is not None and loops.is_blocked(loop)
        at = loops.blocked_at(loop) if blocked and loop is not None else None
        if not entry.ended or (isinstance(entry, Attempt) and entry.orphaned):
            waiting.report(entry, blocked=blocked, at=at)

    @staticmethod
    def _anything() -> bool:
        return next(_open(), None) is not None


def _loop_of(entry: Entry) -> loops.Loop | None:
    """Where it waits: of what was opened beside any loop, that of its session."""
    loop: loops.Loop | None = None if isinstance(entry, Attempt) else entry.loop
    if loop is None and not isinstance(entry, Wait) and entry.session is not None:
        loop = entry.session.loop
    return loop


def _open() -> Iterator[Entry]:
    yield from list(ledger.calls.values())
    with ledger.lock:
        waits: list[Wait] = list(ledger.lock_waits)
    yield from waits
    for attempt in ledger.attempts():
        if attempt.call is None and (not attempt.ended or attempt.orphaned):
            yield attempt
