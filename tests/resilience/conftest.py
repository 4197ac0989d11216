"""Both backends, virtual time, for every ``@pytest.mark.anyio`` test of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings

from harness.virtual import BACKENDS, options

# For `broken_copies.py`, which wants to know that a test fails and not the shortest way to it.
settings.register_profile("no-shrinking", phases=(Phase.explicit, Phase.generate))


@pytest.fixture(params=BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param, options(request.param)


_BY_DESIGN = ("otel_mcp.resilience: breaker ", "otel_mcp.resilience: connector ")
_FAULTS = ("the keepalive of generation", "its owner stopped")


@pytest.fixture(autouse=True)
def our_warnings(our_warnings: list[str]) -> Iterator[list[str]]:
    """That a breaker opened or a connector parked is a warning by design; everything else still fails the test."""
    yield our_warnings
    our_warnings[:] = [
        text for text in our_warnings if not text.startswith(_BY_DESIGN) or any(fault in text for fault in _FAULTS)
    ]
