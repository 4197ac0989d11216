"""Both backends, virtual time, for every ``@pytest.mark.anyio`` test of this folder."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, settings

from .virtual import BACKENDS, options

# For `broken_copies.py`, which wants to know that a test fails and not the shortest way to it.
settings.register_profile("no-shrinking", phases=(Phase.explicit, Phase.generate))


@pytest.fixture(params=BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param, options(request.param)
