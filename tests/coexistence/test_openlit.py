# requires: openlit==1.45.0
# mcp: 1.30.0 2.3.0
"""Beside OpenLIT."""

from __future__ import annotations

from coexistence.coexisting import CoExistence


class TestOpenLit(CoExistence):
    PEER = "openlit"
    DISTRIBUTION = "openlit"
    SPANS = frozenset({1, 2})
    MORE_AFTER_US = True
