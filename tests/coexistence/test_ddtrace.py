# requires: ddtrace==4.16.0
# mcp: 1.30.0 2.3.0
"""Beside Datadog."""

from __future__ import annotations

from coexistence.coexisting import CoExistence


class TestDatadog(CoExistence):
    PEER = "ddtrace"
    DISTRIBUTION = "ddtrace"
    SPANS = frozenset({1})
