# requires: mcp==1.30.0
# requires: openinference-instrumentation-mcp==2.0.13
"""Beside openinference-instrumentation-mcp."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from coexistence.coexisting import Beside, run_beside


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Beside]:
    return run_beside("openinference", tmp_path_factory.mktemp("openinference"))


@pytest.mark.parametrize("order", ["before", "after"])
def test_the_program_prints_what_it_printed_without_us(beside: Mapping[str, Beside], order: str) -> None:
    assert beside[order].out == beside["alone"].out
    assert "an HTTP error" in beside[order].out


@pytest.mark.parametrize("order", ["before", "after"])
def test_every_attempt_has_one_span_of_ours_and_theirs_stay(beside: Mapping[str, Beside], order: str) -> None:
    attempts = beside[order].attempts()
    assert attempts["tools/call"] > 20
    ours = beside[order].ours()
    assert {method: ours[method] for method in attempts} == attempts
