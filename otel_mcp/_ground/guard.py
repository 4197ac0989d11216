"""The one guard between us and the user's call.

Our own work runs inside `guarded(...)`: what fails there is logged once a place with what was lost, counted for
`otel_mcp.internal_errors`, and goes no further. The user's call always runs outside it. Tests set `reraise`, so that
a fault of ours fails them.
"""

from __future__ import annotations

import logging
import os
import threading
from types import TracebackType
from typing import Final

logger = logging.getLogger("otel_mcp")
logger.addHandler(logging.NullHandler())

_MAX_COMPONENTS: Final = 50
"""Component names are written in our code, so this bound only guards against a mistake of ours."""

_lock = threading.Lock()
_counts: dict[str, int] = {}
reraise = False


def internal_errors() -> dict[str, int]:
    """Faults of our own that were caught since the process began, by component."""
    with _lock:
        return dict(_counts)


def _begin_anew() -> None:
    """In a forked child: the thread that held the lock is not there to let it go; the counts are the parent's."""
    global _lock
    _lock = threading.Lock()
    _counts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def caught(component: str, lost: str, error: BaseException) -> None:
    """Count and, the first time for this component, log a fault of ours; re-raise it under test."""
    with _lock:
        seen = _counts.get(component, 0)
        if seen or len(_counts) < _MAX_COMPONENTS:
            _counts[component] = seen + 1
    if not seen:
        logger.warning("otel_mcp: %s failed (%s); lost: %s", component, type(error).__name__, lost, exc_info=error)
    if reraise:
        raise error


class guarded:  # noqa: N801 - reads as a statement, like contextlib.suppress
    """``with guarded("spans", "the span of this call"): ...`` lets no exception of ours out."""

    __slots__ = ("_component", "_lost")

    def __init__(self, component: str, lost: str) -> None:
        self._component = component
        self._lost = lost

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is None or not isinstance(error, Exception):
            return False  # KeyboardInterrupt and the like belong to the program
        caught(self._component, self._lost, error)
        return True
