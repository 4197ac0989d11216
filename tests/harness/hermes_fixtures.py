"""Fixtures of the tests on Hermes Agent, for the conftest files of folders that hold such tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otel_mcp import testing
from otel_mcp._ground import guard

if TYPE_CHECKING:
    from harness.hermes_host import Host


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[testing.Capture]:
    """What otel_mcp records; a fault of ours raises."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(guard, "reraise", True)
    with testing.capture() as captured:
        yield captured


@pytest.fixture
def host(seen: testing.Capture) -> Iterator[Host]:
    """Hermes, watched."""
    from harness.hermes_host import Host

    hermes = Host()
    yield hermes
    hermes.close()
