# requires: openinference-instrumentation-mcp==2.0.13
# mcp: 1.30.0 2.3.0
"""Beside OpenInference."""

from __future__ import annotations

from coexistence.coexisting import CoExistence


class TestOpenInference(CoExistence):
    PEER = "openinference"
    DISTRIBUTION = "openinference-instrumentation-mcp"
    SPANS = frozenset()
