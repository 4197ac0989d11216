# requires: opentelemetry-instrumentation-mcp==0.62.4
# mcp: 1.30.0 2.3.0
"""Beside Traceloop."""

from __future__ import annotations

from coexistence.coexisting import CoExistence


class TestTraceloop(CoExistence):
    PEER = "traceloop"
    DISTRIBUTION = "opentelemetry-instrumentation-mcp"
    SPANS = frozenset({1})
    STARTS = frozenset({1})
    HARMS = frozenset({1, 2})
