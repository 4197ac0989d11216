# requires: logfire==5.4.0
# mcp: 1.30.0 2.3.0
"""Beside Logfire."""

from __future__ import annotations

from coexistence.coexisting import CoExistence


class TestLogfire(CoExistence):
    PEER = "logfire"
    DISTRIBUTION = "logfire"
    SPANS = frozenset({1})
