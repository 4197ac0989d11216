"""Nothing of ours reaches the program, and it is counted."""

from __future__ import annotations

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
