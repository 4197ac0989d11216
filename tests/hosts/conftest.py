"""What every host's test looks at: a host's public API, and what was seen of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.watching import Watched, watching


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """This process is watched; what was seen is read after ``watched.finish()``."""
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    with watching(tmp_path / "calls.jsonl") as seen:
        yield seen
