"""What every host's test looks at: a host's public API, and what was seen of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.hermes_fixtures import host, seen
from harness.signals import TABLE
from harness.watching import Watched, watching

__all__ = ["host", "seen", "seen_signals", "watched"]


@pytest.fixture(autouse=True)
def seen_signals(request: pytest.FixtureRequest, table_row: Callable[[str, str], None]) -> None:
    """Enters the rows that a test names with ``harness.signals.shows``."""
    for row in getattr(request.function, "signals", ()):
        table_row(TABLE, row)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """This process is watched; what was seen is read after ``watched.finish()``."""
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    with watching(tmp_path / "calls.jsonl") as seen:
        yield seen
