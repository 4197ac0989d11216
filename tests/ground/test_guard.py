"""Nothing of ours reaches the program, and it is counted."""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import pytest

from otel_mcp._ground import guard
from otel_mcp._ground.guard import guarded


@pytest.fixture
def swallowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production, with counts of its own."""
    monkeypatch.setattr(guard, "reraise", False)
    monkeypatch.setattr(guard, "_counts", {})


@pytest.mark.usefixtures("swallowing")
def test_a_fault_of_ours_is_counted_each_time_and_logged_once_with_what_was_lost(our_warnings: list[str]) -> None:
    for _ in range(3):
        with guarded("spans", "the span of this call"):
            raise ZeroDivisionError
    assert guard.internal_errors() == {"spans": 3}
    assert our_warnings == ["otel_mcp: otel_mcp: spans failed (ZeroDivisionError); lost: the span of this call"]
    our_warnings.clear()


@pytest.mark.usefixtures("swallowing")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_belongs_to_the_program_goes_through(error: type[BaseException]) -> None:
    with pytest.raises(error), guarded("spans", "nothing"):
        raise error
    assert guard.internal_errors() == {}


@pytest.mark.usefixtures("swallowing")
def test_components_are_bounded(our_warnings: list[str]) -> None:
    for number in range(200):
        guard.caught(f"component {number}", "nothing", ValueError())
    our_warnings.clear()
    assert len(guard.internal_errors()) <= 50


def test_under_test_it_comes_out(our_warnings: list[str]) -> None:
    assert guard.reraise is True
    with pytest.raises(ZeroDivisionError), guarded("test of the guard", "nothing"):
        raise ZeroDivisionError
    our_warnings.clear()


class Alarm(Exception):
    """What a handler of the program raises."""


def handler(number: int, frame: FrameType | None) -> NoReturn:
    raise Alarm


class Handlers:
    def method(self, number: int, frame: FrameType | None) -> NoReturn:
        raise Alarm

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        raise Alarm


@pytest.fixture(params=[handler, Handlers().method, Handlers(), functools.partial(functools.partial(handler))])
def alarm(request: pytest.FixtureRequest) -> Iterator[Any]:
    before = signal.signal(signal.SIGUSR1, request.param)
    yield request.param
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("swallowing", "alarm")
def test_what_a_signal_handler_of_the_program_raises_in_the_middle_of_our_work_goes_through() -> None:
    with pytest.raises(Alarm), guarded("spans", "nothing"):
        signal.raise_signal(signal.SIGUSR1)
    assert guard.internal_errors() == {}


@pytest.mark.usefixtures("swallowing", "alarm")
def test_a_fault_of_ours_stays_one_where_the_program_has_signal_handlers(our_warnings: list[str]) -> None:
    with guarded("spans", "the span of this call"):
        raise Alarm
    assert guard.internal_errors() == {"spans": 1}
    our_warnings.clear()


@pytest.mark.usefixtures("swallowing")
def test_a_signal_handler_may_ask_for_the_counts_while_its_thread_reads_them() -> None:
    asked = []
    before = signal.signal(signal.SIGUSR1, lambda *_: asked.append(guard.internal_errors()))
    with guard._lock:
        signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    assert asked == [{}]
