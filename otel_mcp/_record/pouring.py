"""Many values of one attribute set into OpenTelemetry's histograms at once.

The API takes one value at a time, and the SDK cleans, sorts and hashes the attributes of each anew. Where the SDK keeps
histograms in the way we know, which is tried, the values are added to its own buckets and sums as its `aggregate` would
have done. Elsewhere the caller records one by one: with another SDK, or under a view that wants another histogram.
"""

from __future__ import annotations

import contextlib
import functools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Any

Place = tuple[Any, Any]
"""What one view keeps of a histogram, and the key of one attribute set in there."""


class Entries:
    """Where the SDK keeps one attribute set of a histogram: one entry for each reader and view."""

    def __init__(self, histogram: Any, readers: Any, places: list[Place]) -> None:
        self.histogram = histogram
        self._readers = readers
        self._places = places

    def pour(self, values: list[float]) -> bool:
        """Add all of them everywhere; False: nothing was added, because an entry is no longer there."""
        if _readers(self.histogram) is not self._readers:
            return False
        entries = self._entries()
        if None in entries:
            return False
        if not values:
            return True
        added = [_Added(entry, values) for entry in entries]
        with contextlib.ExitStack() as held:
            for view, _ in self._places:
                held.enter_context(view._lock)  # a collection of deltas drops the entries
            if self._entries() != entries:
                return False
            for each in added:
                each.add()
        return True

    def _entries(self) -> list[Any]:
        return [view._attributes_aggregation.get(key) for view, key in self._places]


def entries(histogram: Any, attributes: dict[str, Any]) -> Entries | None:
    """Where these attributes are kept, once a value was recorded with them; None where that cannot be told."""
    return _find(histogram, attributes) if works() else None


@functools.cache
def works() -> bool:
    """Whether the SDK keeps histograms in that way: tried on one of its own."""
    try:
        from opentelemetry.sdk import metrics, resources
        from opentelemetry.sdk.metrics import export

        reader = export.InMemoryMetricReader()
        provider = metrics.MeterProvider([reader], resources.Resource.get_empty(), shutdown_on_exit=False)
        histogram = provider.get_meter(__name__).create_histogram("tried", explicit_bucket_boundaries_advisory=[1, 5])
        histogram.record(0.5, {})
        found = _find(histogram, {})
        if found is None or not found.pour([1, 3, 9]):
            return False
        data: Any = reader.get_metrics_data()
        (point,) = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
        return (point.count, point.sum, point.min, point.max, point.bucket_counts) == (4, 13.5, 0.5, 9, (2, 1, 1))
    except Exception:  # noqa: BLE001 - an SDK that we do not know gets every value by itself
        return False


def _find(histogram: Any, attributes: dict[str, Any]) -> Entries | None:
    try:
        readers = _readers(histogram)
        return Entries(histogram, readers, list(_places(histogram, readers, attributes)))
    except (AttributeError, LookupError, TypeError):
        return None


def _readers(histogram: Any) -> Any:
    """The SDK makes another mapping when a reader comes or goes."""
    return histogram._measurement_consumer._reader_storages


def _places(histogram: Any, readers: Any, attributes: dict[str, Any]) -> Iterator[Place]:
    from opentelemetry.sdk.metrics._internal.aggregation import _DropAggregation, _ExplicitBucketHistogramAggregation

    for storage in readers.values():
        for view in storage._get_or_init_view_instrument_match(histogram):
            kind = type(view._aggregation)
            if kind is _DropAggregation:
                continue
            if kind is not _ExplicitBucketHistogramAggregation:
                raise TypeError(kind)
            yield view, _key(view, attributes)


def _key(view: Any, attributes: dict[str, Any]) -> Any:
    kept = view._view._attribute_keys
    expected = attributes if kept is None else {name: attributes[name] for name in attributes if name in kept}
    for key, entry in list(view._attributes_aggregation.items()):
        if entry._attributes == expected:
            return key
    raise LookupError(expected)  # beyond the view's limit of attribute sets


class _Added:
    """Many values for one entry, counted before its locks are taken: a finalizer that runs meanwhile may want them."""

    def __init__(self, entry: Any, values: list[float]) -> None:
        self._entry = entry
        self._counts = Counter(map(functools.partial(bisect_left, entry._boundaries), values))
        self._sum, self._min, self._max = sum(values), min(values), max(values)

    def add(self) -> None:
        entry = self._entry
        with entry._lock:
            if entry._value is None:
                entry._value = entry._get_empty_bucket_counts()
            for bucket, count in self._counts.items():
                entry._value[bucket] += count
            entry._sum += self._sum
            if entry._record_min_max:
                entry._min = min(entry._min, self._min)
                entry._max = max(entry._max, self._max)
