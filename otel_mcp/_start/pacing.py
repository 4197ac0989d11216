"""Batches that are exported a little at a time, so that the program's event loop gets its turn in between.

Python lets one thread run at a time and takes the turn away after five milliseconds only. The encoder of OTLP works
through 512 spans in 20 to 60 ms of pure Python: a call that is under way meanwhile waits those five milliseconds again
and again. A short sleep hands the turn over at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from otel_mcp._start.packing import unpacked

RECORDS_AT_A_TIME: Final = 8
"""Spans or log records between two pauses: about half a millisecond of encoding."""
METRICS_AT_A_TIME: Final = 1
POINTS_AT_A_TIME: Final = 8
"""A metric has a point for each connector, tool and outcome; a histogram's has many numbers."""
PAUSE: Final = 0.0002
"""Seconds. A sleep of none would not do: the thread would often have its turn back before the other one wakes."""


class Paced(Sequence[Any]):
    """A sequence that pauses while it is iterated, after every so many; what was packed is unpacked on the way."""

    def __init__(self, items: Sequence[Any], at_a_time: int) -> None:
        self._items = items
        self._at_a_time = at_a_time

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: Any) -> Any:
        found = self._items[place]
        return whole(found) if isinstance(place, slice) else unpacked(found)

    def __iter__(self) -> Iterator[Any]:
        for place, item in enumerate(self._items):
            if place and place % self._at_a_time == 0:
                time.sleep(PAUSE)
            yield unpacked(item)


def whole(argument: Any) -> Any:
    """What an exporter that we do not know is given: the very list that the SDK would give it."""
    return [unpacked(item) for item in argument] if isinstance(argument, list) else argument


def paced(argument: Any) -> Any:
    """What an exporter of OpenTelemetry's is given, as something that pauses: spans or log records, or metrics."""
    if isinstance(argument, (list, tuple)):
        return Paced(argument, RECORDS_AT_A_TIME)
    if hasattr(argument, "resource_metrics"):
        return replace(argument, resource_metrics=[_of_resource(each) for each in argument.resource_metrics])
    return argument


def _of_resource(its: Any) -> Any:
    scopes = [
        replace(scope, metrics=Paced([_of_metric(each) for each in scope.metrics], METRICS_AT_A_TIME))
        for scope in its.scope_metrics
    ]
    return replace(its, scope_metrics=scopes)


def _of_metric(its: Any) -> Any:
    return replace(its, data=replace(its.data, data_points=Paced(its.data.data_points, POINTS_AT_A_TIME)))
