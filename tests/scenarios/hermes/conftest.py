"""Fixtures of the scenarios on Hermes Agent."""

from __future__ import annotations

from harness.hermes_fixtures import host, seen

__all__ = ["host", "seen"]
