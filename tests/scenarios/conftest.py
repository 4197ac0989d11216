"""Fixtures of the field scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.watching import Watched


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Runs a scenario without us and with us."""
    return Watched(tmp_path, monkeypatch)
