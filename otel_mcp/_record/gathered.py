"""Histogram values that wait for others of their attribute set, so that they can be recorded together.

Recording one value costs as much as all of our bookkeeping for the call it is about, and nearly all of that goes into
the attributes. So each series keeps a few values back: whoever adds the last of them records them all, in some
microseconds, and a collection does it for whatever still waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground.guard import guarded
from otel_mcp._record import pouring

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram

_ENOUGH: Final = 64
"""Values of one series that are recorded together."""


class Series:
    """One attribute set of one histogram."""

    __slots__ = ("attributes", "entries", "listed_by", "name", "pourable", "waiting")

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self.name = name
        """The histogram's."""
        self.attributes = attributes
        self.waiting: list[float] = []
        self.pourable = True
        """Else each value is recorded by itself, and none is made to wait for others."""
        self.listed_by: Gathered | None = None
        """Who looks at it at a collection."""
        self.entries: pouring.Entries | None = None
        """Where the SDK keeps it."""


class Gathered:
    """Every value that is added is recorded once: by `record`, or together with others of its series."""

    def __init__(
        self, record: Callable[[Series, float], None], histogram: Callable[[Series], Histogram | None]
    ) -> None:
        self._record = record
        self._histogram = histogram
        self._listed: deque[Series] = deque()
        self._turn = threading.RLock()
        """Held while values are on their way: who waits for it finds them recorded."""
        self._busy = False

    def add(self, series: Series, value: float) -> None:
        """Keep a value for later. Never raises."""
        waiting = series.waiting
        waiting.append(value)
        if series.listed_by is not self:
            self._list(series)
        # While a collection hands over, the values wait for the next occasion: nobody waits for it.
        if (len(waiting) >= _ENOUGH or not series.pourable) and self._turn.acquire(blocking=False):
            try:
                self._hand_over(series)
            finally:
                self._turn.release()

    def _list(self, series: Series) -> None:
        if series.listed_by is not None:  # by another's: this is a forked process, and a parent's values are no child's
            del series.waiting[:-1]
        series.listed_by = self
        self._listed.append(series)

    def flush(self) -> None:
        """Record everything that was added before. Never raises."""
        with self._turn:
            if self._busy:
                return  # a signal handler or a finalizer that collects, in the middle of `_hand_over`
            for _ in range(len(self._listed)):
                try:
                    series = self._listed.popleft()
                except IndexError:
                    return  # a signal handler or a finalizer that collects has taken the rest
                series.listed_by = None  # first: a value that is added from now on lists it again
                self._hand_over(series)

    def _hand_over(self, series: Series) -> None:
        if self._busy:
            return  # a signal handler or a finalizer, in the middle of this very method
        self._busy = True
        try:
            with guarded("metrics", "histogram points"):
                values = series.waiting[:]
                del series.waiting[: len(values)]
                if values and not self._poured(series, values):
                    self._one_by_one(series, values)
        finally:
            self._busy = False

    def _poured(self, series: Series, values: list[float]) -> bool:
        """Whether they could be recorded together."""
        histogram = self._histogram(series)
        if histogram is None:
            return True  # nobody wants them
        known = series.entries
        if known is not None and known.histogram is not histogram:
            known = None
        if known is not None and known.pour(values):
            return True
        if not series.pourable:
            return False
        self._alone(series, values.pop(0))  # then the SDK has an entry for the others
        if known is not None and known.pour(values):
            return True  # a collection of deltas had dropped it; it has the same key again
        series.entries = pouring.entries(histogram, series.attributes)
        return series.entries is not None and series.entries.pour(values)

    def _one_by_one(self, series: Series, values: list[float]) -> None:
        series.pourable = False
        for value in values:
            self._alone(series, value)

    def _alone(self, series: Series, value: float) -> None:
        with guarded("metrics", "a histogram point"):
            self._record(series, value)
