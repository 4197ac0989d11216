"""Fixtures for the whole suite."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from otel_mcp._ground import guard

if TYPE_CHECKING:
    from harness.servers import Servers

# A busy machine is no reason to fail: how long an example takes is not what these tests are about. Properties are tried
# in two environments, so that `make test` tries each a hundred times.
hypothesis.settings.register_profile("suite", deadline=None, database=None, max_examples=50)
hypothesis.settings.load_profile("suite")

DETACH_FAILED = "Failed to detach context"


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio unless they ask for more by parametrising this fixture."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def faults_of_our_own_fail_the_test() -> None:
    """`guard.reraise` is how the package is tested: nothing of ours is swallowed."""
    guard.reraise = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker a file, so that what a file's tests share is made once; one for all that ask for the same `month`."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            shared = "month" if "month" in getattr(item, "fixturenames", ()) else str(item.path)
            item.add_marker(pytest.mark.xdist_group(shared))


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.name.startswith("otel_mcp") or text.startswith(DETACH_FAILED):
            self.texts.append(f"{record.name}: {text}")


@pytest.fixture(autouse=True)
def our_warnings(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """What `otel_mcp` and OpenTelemetry's context have complained about; it has to stay empty.

    A test that provokes a warning asks for this fixture, compares it and clears it.
    """
    complaints = _Complaints()
    root = logging.getLogger()
    root.addHandler(complaints)
    try:
        yield complaints.texts
    finally:
        root.removeHandler(complaints)
    assert complaints.texts == []


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Starts misbehaving servers; see ``harness.servers``."""
    # Here, because it brings the SDK, and the process that only hands tests to the workers loads this file too.
    from harness.servers import servers_in

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
