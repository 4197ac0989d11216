"""Both backends, virtual time, for every ``@pytest.mark.anyio`` test of this folder."""

from __future__ import annotations

from typing import Any

import pytest

from .virtual import BACKENDS, options


@pytest.fixture(params=BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param, options(request.param)
