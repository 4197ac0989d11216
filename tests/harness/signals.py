"""Which signals of a host a test has seen: rows of the table that ``make test-hosts`` prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
TABLE = "signals by host"


def shows(*rows: str) -> Callable[[F], F]:
    """Marks a test function; ``tests/hosts/conftest.py`` enters its rows."""

    def mark(function: F) -> F:
        function.signals = rows
        return function

    return mark
