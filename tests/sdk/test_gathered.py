"""Points that wait for others: handed on once each, by a thread of their own or by whoever collects."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from otel_mcp._ground import guard
from otel_mcp._ground.catalogue import CALL_DURATION, Instrument
from otel_mcp._record import gathered
from otel_mcp._record.gathered import Gathered

THREAD = "otel-mcp-points"


class Taken:
    """What was handed on, and by which thread."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.threads: set[str] = set()
        self.inside = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def record(self, row: Instrument, value: float, attributes: dict[str, str]) -> None:
        self.inside.set()
        self.go_on.wait(10)
        self.threads.add(threading.current_thread().name)
        self.values.append(value)


@pytest.fixture
def taken() -> Taken:
    return Taken()


@pytest.fixture
def points(taken: Taken) -> Iterator[Gathered]:
    points = Gathered(taken.record)
    yield points
    points.stop()


def add(points: Gathered, numbers: range) -> None:
    for number in numbers:
        points.add((CALL_DURATION, number, {}))


def test_a_few_points_start_no_thread_and_wait_for_the_collection(points: Gathered, taken: Taken) -> None:
    add(points, range(gathered._ENOUGH - 1))
    assert taken.values == []
    points.flush()
    assert taken.values == list(range(gathered._ENOUGH - 1))
    assert taken.threads == {threading.current_thread().name}


def test_many_points_are_handed_on_in_their_order_by_a_thread_of_their_own(points: Gathered, taken: Taken) -> None:
    for round_ in range(3):
        taken.inside.clear()
        add(points, range(round_ * 1000, round_ * 1000 + gathered._ENOUGH))
        assert taken.inside.wait(10)
        points.flush()
    assert taken.values == [*range(64), *range(1000, 1064), *range(2000, 2064)]
    assert THREAD in taken.threads


def test_a_collection_waits_for_the_point_that_is_on_its_way(points: Gathered, taken: Taken) -> None:
    taken.go_on.clear()
    add(points, range(gathered._ENOUGH))
    assert taken.inside.wait(10)
    threading.Timer(0.05, taken.go_on.set).start()
    points.flush()
    assert taken.values == list(range(gathered._ENOUGH))


def test_who_adds_helps_where_the_thread_has_fallen_behind(points: Gathered, taken: Taken) -> None:
    points._enough.set()  # as if the thread had been woken and did not come
    add(points, range(gathered._TOO_MANY + 100))
    assert len(taken.values) >= 100
    points.flush()
    assert taken.values == list(range(gathered._TOO_MANY + 100))


def test_points_are_not_lost_where_no_thread_can_be_started(
    points: Gathered, taken: Taken, monkeypatch: pytest.MonkeyPatch, our_warnings: list[str]
) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(guard, "reraise", False)
    monkeypatch.setattr(threading.Thread, "start", refused)
    add(points, range(200))
    points.flush()
    assert taken.values == list(range(200))
    assert len(our_warnings) <= 1
    our_warnings.clear()


def test_the_thread_ends_and_the_next_points_get_another(points: Gathered, taken: Taken) -> None:
    for _ in range(2):
        taken.inside.clear()
        add(points, range(gathered._ENOUGH))
        assert taken.inside.wait(10)
        thread = points._thread
        assert thread is not None
        points.stop()
        thread.join(10)
        assert not thread.is_alive()
    assert len(taken.values) == 2 * gathered._ENOUGH


def test_a_point_that_cannot_be_recorded_costs_no_other(
    taken: Taken, monkeypatch: pytest.MonkeyPatch, our_warnings: list[str]
) -> None:
    def picky(row: Instrument, value: float, attributes: dict[str, str]) -> None:
        if value in {0, 16, 17, 200}:
            raise TypeError("a view of the program's own")
        taken.record(row, value, attributes)

    monkeypatch.setattr(guard, "reraise", False)
    points = Gathered(picky)
    add(points, range(gathered._ENOUGH))
    assert taken.inside.wait(10)
    add(points, range(gathered._ENOUGH, 201))
    points.stop()
    assert taken.values == [number for number in range(201) if number not in {0, 16, 17, 200}]
    assert len(our_warnings) <= 1
    our_warnings.clear()
