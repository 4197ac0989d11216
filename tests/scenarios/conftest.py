"""Fixtures of the field scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.watching import Watched


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Runs a scenario without us and with us."""
    return Watched(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def reports_of_hangs(our_warnings: list[str]) -> Iterator[None]:
    """Hangs are reported by the logger too: here that is what is provoked."""
    yield
    our_warnings[:] = [text for text in our_warnings if "still waiting" not in text]
