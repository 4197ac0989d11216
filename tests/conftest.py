"""Fixtures for the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture
def table_row(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``table_row("outcomes", "read time-out")`` puts this test into a table that ``make test`` prints at its end.

    The columns are the environments; several tests may share a row.
    """

    def enter(table: str, row: str) -> None:
        request.node.user_properties.append((f"table:{table}", row))

    return enter
