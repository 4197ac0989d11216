"""Histogram points that wait for others, so that the thread that calls need not record them.

Recording a point costs as much as all of our bookkeeping for the call it is about. A thread of its own does it while
the event loop waits for servers; a collection does it for whatever still waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from otel_mcp._ground.catalogue import Instrument
from otel_mcp._ground.guard import guarded

Point = tuple[Instrument, float, dict[str, Any]]
"""Instrument, value, attributes."""

_ENOUGH: Final = 64
"""Points at which the thread is woken; a call has two. Programs with fewer calls between collections never start it."""
_SLICE: Final = 16
"""Points recorded at a stretch, in well below a millisecond: Python lets one thread run at a time."""
_BREATH: Final = 0.001
"""Seconds between stretches, for the threads that wait."""
_TOO_MANY: Final = 4096
"""Points at which the thread has fallen behind, or could not be started: whoever adds one records a stretch."""


class Gathered:
    """First in, first out; every point is handed to `record` once."""

    def __init__(self, record: Callable[[Instrument, float, dict[str, Any]], None]) -> None:
        self._record = record
        self._points: deque[Point] = deque()
        self._enough = threading.Event()
        self._turn = threading.RLock()
        """Held while points are on their way: who waits for it finds them recorded."""
        self._thread: threading.Thread | None = None

    def add(self, point: Point) -> None:
        """Keep a point for later."""
        points = self._points
        points.append(point)
        if len(points) >= _ENOUGH and not self._enough.is_set():
            self._wake()
        if len(points) >= _TOO_MANY:
            self._some()

    def flush(self) -> None:
        """Record everything that was added before. Never raises."""
        left = len(self._points)
        taken = self._some()  # with nothing left, too: the last ones may be on their way in the other thread
        while taken and (left := left - taken) > 0:
            taken = self._some()

    def stop(self) -> None:
        """Record everything and end the thread; the next that add enough points get another one."""
        self.flush()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._enough.set()
        else:
            self._enough.clear()

    def _some(self) -> int:
        """Record one stretch; how many points it took, those that failed among them."""
        taken = 0
        with self._turn, guarded("metrics", "a histogram point"):
            while taken < _SLICE and self._points:
                taken += 1
                self._record(*self._points.popleft())
        return taken

    def _wake(self) -> None:
        self._enough.set()
        if self._thread is None:
            with guarded("metrics", "the thread that records histogram points"):
                self._thread = thread = threading.Thread(target=self._run, name="otel-mcp-points", daemon=True)
                thread.start()

    def _run(self) -> None:
        while self._thread is threading.current_thread():
            self._enough.wait()
            while self._points:
                self._some()
                time.sleep(_BREATH)
            self._enough.clear()
