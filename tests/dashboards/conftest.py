"""One simulated month in one real Prometheus, shared by all tests of queries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# At the end, so that an installed otel_mcp is found before the source tree.
sys.path += [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from simulated_month import Month, prometheus_with_a_month


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    with prometheus_with_a_month(tmp_path_factory.mktemp("month")) as made:
        yield made
