"""Values that wait for others of their series: the SDK's histograms end up as if each had been recorded by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import (
    DropAggregation,
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    View,
)

from otel_mcp._ground import guard
from otel_mcp._record import gathered, pouring
from otel_mcp._record.gathered import Gathered, Series

NAME = "duration"
ENOUGH = gathered._ENOUGH
VIEWS: dict[str, list[View]] = {
    "no view": [],
    "other bounds": [
        View(instrument_name=NAME, aggregation=ExplicitBucketHistogramAggregation([1, 3], record_min_max=False))
    ],
    "fewer attributes": [View(instrument_name=NAME, attribute_keys={"connector"})],
    "two views": [View(instrument_name=NAME, name="all"), View(instrument_name=NAME, name="few", attribute_keys=set())],
    "dropped": [View(instrument_name=NAME, aggregation=DropAggregation())],
    "exponential": [View(instrument_name=NAME, aggregation=ExponentialBucketHistogramAggregation())],
    "one of two exponential": [
        View(instrument_name=NAME, name="plain"),
        View(instrument_name=NAME, name="exponential", aggregation=ExponentialBucketHistogramAggregation()),
    ],
}
ATTRIBUTES = [{"connector": "a", "outcome": "ok"}, {"connector": "a", "outcome": "error"}, {"connector": "b"}]


class Kept:
    """A histogram of the real SDK with two readers, one of sums since the start and one of deltas."""

    def __init__(self, views: list[View]) -> None:
        delta = {Histogram: AggregationTemporality.DELTA}
        self.readers = [InMemoryMetricReader(), InMemoryMetricReader(preferred_temporality=delta)]
        self.provider = MeterProvider(self.readers, shutdown_on_exit=False, views=views)
        self.histogram = self.provider.get_meter("tests").create_histogram(NAME)

    def collected(self, of: int) -> list[Any]:
        """What the next collection of that reader says, without its times; sums to nine digits."""
        data = self.readers[of].get_metrics_data()
        return sorted(
            (metric.name, sorted((point.attributes or {}).items()), point.count, f"{point.sum:.9g}", *_detail(point))
            for resource in (data.resource_metrics if data is not None else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        )


def _detail(point: Any) -> tuple[Any, ...]:
    buckets = getattr(point, "bucket_counts", None)
    found = (point.scale, list(point.positive.bucket_counts)) if buckets is None else (point.explicit_bounds, buckets)
    return (point.min, point.max, *found)


class Waiting:
    """The same histogram, fed by `Gathered`."""

    def __init__(self, views: list[View] | None = None) -> None:
        self.kept = Kept(views or [])
        self.alone: list[float] = []
        self.points = Gathered(self.record, lambda series: self.kept.histogram)

    def record(self, series: Series, value: float) -> None:
        self.alone.append(value)
        self.kept.histogram.record(value, series.attributes)

    def count(self) -> int:
        self.points.flush()
        return sum(row[2] for row in self.kept.collected(0))


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def series() -> Series:
    return Series(NAME, ATTRIBUTES[0])


def add(points: Gathered, series: Series, numbers: range) -> None:
    for number in numbers:
        points.add(series, float(number))


steps = st.one_of(
    st.tuples(st.sampled_from([0, 1, 2]), st.lists(st.floats(0, 1e6), min_size=1, max_size=ENOUGH + 2)),
    st.tuples(st.just("collect"), st.sampled_from([0, 1])),
)


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@given(script=st.lists(steps, max_size=12))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
def test_every_collection_says_what_it_would_have_said_of_values_recorded_one_by_one(
    views: list[View], script: list[Any]
) -> None:
    waits, plain = Waiting(views), Kept(views)
    all_series = [Series(NAME, attributes) for attributes in ATTRIBUTES]
    for what, more in [*script, ("collect", 0), ("collect", 1)]:
        if what == "collect":
            waits.points.flush()
            assert waits.kept.collected(more) == plain.collected(more)
        else:
            for value in more:
                waits.points.add(all_series[what], value)
                plain.histogram.record(value, ATTRIBUTES[what])


def test_values_wait_until_there_are_enough_of_their_series(waiting: Waiting, series: Series) -> None:
    add(waiting.points, series, range(ENOUGH - 1))
    assert waiting.kept.collected(0) == []
    add(waiting.points, series, range(1))
    assert waiting.kept.collected(0)[0][2] == ENOUGH


def test_this_sdk_is_one_that_takes_many_at_once(waiting: Waiting, series: Series) -> None:
    add(waiting.points, series, range(10 * ENOUGH))
    assert waiting.count() == 10 * ENOUGH
    assert len(waiting.alone) == 1


@pytest.fixture
def tried_anew() -> Iterator[None]:
    pouring.works.cache_clear()
    yield
    pouring.works.cache_clear()


@pytest.mark.usefixtures("tried_anew")
def test_an_sdk_whose_sums_are_kept_in_another_way_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pouring.works()
    pouring.works.cache_clear()
    monkeypatch.setattr(pouring._Added, "add", lambda added: None)
    assert not pouring.works()


def test_an_sdk_that_keeps_its_histograms_in_another_way_gets_them_one_by_one_and_nobody_waits(
    waiting: Waiting, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(histogram: Any) -> Any:
        raise AttributeError("_reader_storages")

    monkeypatch.setattr(pouring, "_readers", unknown)
    add(waiting.points, series, range(ENOUGH + 1))
    assert waiting.alone == list(range(ENOUGH + 1))


def test_beyond_the_limit_of_attribute_sets_they_are_recorded_one_by_one(waiting: Waiting) -> None:
    for number in range(2100):
        waiting.points.add(Series(NAME, {"tool": str(number)}), 1)
    late = Series(NAME, {"tool": "late"})
    add(waiting.points, late, range(ENOUGH + 1))
    assert waiting.count() == 2100 + ENOUGH + 1


def test_who_makes_no_histogram_keeps_nothing(series: Series) -> None:
    recorded: list[float] = []
    points = Gathered(lambda series, value: recorded.append(value), lambda series: None)
    add(points, series, range(3 * ENOUGH))
    points.flush()
    assert (recorded, series.waiting) == ([], [])


def test_another_histogram_gets_what_is_added_from_then_on(series: Series) -> None:
    first, second = Waiting(), Waiting()
    add(first.points, series, range(2 * ENOUGH))
    first.points.flush()
    before, first.kept = first.kept, second.kept
    add(first.points, series, range(3))
    first.points.flush()
    assert [kept.collected(0)[0][2] for kept in (before, second.kept)] == [2 * ENOUGH, 3]


def test_a_forked_process_does_not_count_what_its_parent_had_waiting(series: Series) -> None:
    parent, child = Waiting(), Waiting()
    add(parent.points, series, range(5))
    add(child.points, series, range(2))
    assert child.count() == 2


def test_threads_that_add_and_threads_that_collect_lose_and_double_nothing(waiting: Waiting) -> None:
    all_series = [Series(NAME, attributes) for attributes in ATTRIBUTES]
    done = threading.Event()

    def collect() -> None:
        while not done.is_set():
            waiting.points.flush()
            waiting.kept.collected(0)

    def work() -> None:
        for number in range(3000):
            waiting.points.add(all_series[number % 3], 1.0)

    collectors = [threading.Thread(target=collect) for _ in range(2)]
    workers = [threading.Thread(target=work) for _ in range(3)]
    for thread in collectors + workers:
        thread.start()
    for thread in workers:
        thread.join(30)
    done.set()
    for thread in collectors:
        thread.join(30)
    assert waiting.count() == 9000


def test_who_adds_does_not_wait_for_a_collection(waiting: Waiting, series: Series) -> None:
    held, go_on = threading.Event(), threading.Event()

    def collect() -> None:
        with waiting.points._turn:
            held.set()
            go_on.wait(10)

    thread = threading.Thread(target=collect)
    thread.start()
    assert held.wait(10)
    add(waiting.points, series, range(2 * ENOUGH))  # would never come back
    go_on.set()
    thread.join(10)
    assert waiting.count() == 2 * ENOUGH


def interrupted(waiting: Waiting, series: Series) -> Callable[[Series, float], None]:
    def record(of: Series, value: float) -> None:
        waiting.record(of, value)
        if value == 0:
            add(waiting.points, series, range(1000, 1000 + 2 * ENOUGH))
            waiting.points.flush()

    return record


def test_a_flush_gets_to_every_series_although_one_has_more_meanwhile(waiting: Waiting) -> None:
    every = [Series(NAME, attributes) for attributes in ATTRIBUTES]

    def record(of: Series, value: float) -> None:
        waiting.record(of, value)
        if value < 9:
            waiting.points.add(of, value + 1)

    waiting.points._record = record
    for series in every:
        waiting.points.add(series, 1.0)
    waiting.points.flush()
    assert waiting.alone == [1.0, 1.0, 1.0]


def test_a_series_is_looked_up_once_although_collections_of_deltas_drop_it(
    waiting: Waiting, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[Any] = []
    entries = pouring.entries
    monkeypatch.setattr(pouring, "entries", lambda *of: looked_up.append(of) or entries(*of))
    for _ in range(3):
        add(waiting.points, series, range(ENOUGH))
        waiting.kept.collected(1)
    assert (len(looked_up), waiting.count()) == (1, 3 * ENOUGH)


def test_a_signal_handler_that_calls_and_collects_in_the_middle_of_it_loses_nothing(
    waiting: Waiting, series: Series
) -> None:
    waiting.points._record = interrupted(waiting, series)
    add(waiting.points, series, range(ENOUGH))
    assert series.listed_by is waiting.points
    assert waiting.count() == 3 * ENOUGH


@pytest.fixture
def expected_warning(monkeypatch: pytest.MonkeyPatch, our_warnings: list[str]) -> Iterator[list[str]]:
    monkeypatch.setattr(guard, "reraise", False)
    yield our_warnings
    assert len(our_warnings) == 1
    our_warnings.clear()


def test_a_value_that_cannot_be_recorded_costs_no_other(
    waiting: Waiting, series: Series, monkeypatch: pytest.MonkeyPatch, expected_warning: list[str]
) -> None:
    monkeypatch.setattr(pouring, "entries", lambda histogram, attributes: None)

    def picky(of: Series, value: float) -> None:
        if value in {0, 16, 17, 100}:
            raise TypeError("a view of the program's own")
        waiting.record(of, value)

    waiting.points._record = picky
    add(waiting.points, series, range(101))
    waiting.points.flush()
    assert waiting.alone == [number for number in range(101) if number not in {0, 16, 17, 100}]
