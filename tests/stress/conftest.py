"""Fixtures of the stress tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def reports_of_hangs(our_warnings: list[str]) -> Iterator[None]:
    """Orphans are reported by the logger too: here they are what is provoked."""
    yield
    our_warnings[:] = [text for text in our_warnings if "still waiting" not in text]
