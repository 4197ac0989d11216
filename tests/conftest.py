"""Fixtures for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.servers import Servers, servers_in


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio unless they ask for more by parametrising this fixture."""
    return "asyncio"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Starts misbehaving servers; see ``harness.servers``."""
    with servers_in(tmp_path) as started:
        yield started
