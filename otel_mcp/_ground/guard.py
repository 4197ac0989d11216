"""The one guard between us and the user's call.

Our own work runs inside `guarded(...)`: what fails there is logged once a place with what was lost, counted for
`otel_mcp.internal_errors`, and goes no further. The user's call always runs outside it. Tests set `reraise`, so that
a fault of ours fails them.
"""

from __future__ import annotations

import functools
import logging
import os
import signal
import threading
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Final

logger = logging.getLogger("otel_mcp")
logger.addHandler(logging.NullHandler())

_MAX_COMPONENTS: Final = 50
"""Component names are written in our code, so this bound only guards against a mistake of ours."""

_lock = threading.RLock()
"""Re-entrant: a signal handler that asks for the counts may interrupt the very thread that holds it."""
_counts: dict[str, int] = {}
reraise = False


def internal_errors() -> dict[str, int]:
    """Faults of our own that were caught since the process began, by component."""
    with _lock:
        return dict(_counts)


def _begin_anew() -> None:
    """In a forked child: the thread that held the lock is not there to let it go; the counts are the parent's."""
    global _lock
    _lock = threading.RLock()
    _counts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def caught(component: str, lost: str, error: BaseException) -> None:
    """Count and, the first time for this component, log a fault of ours; re-raise it under test.

    What a signal handler of the program has raised is none: it is raised again, as if we had not been interrupted.
    """
    if _raised_by_a_signal_handler(error):
        raise error
    with _lock:
        seen = _counts.get(component, 0)
        if seen or len(_counts) < _MAX_COMPONENTS:
            _counts[component] = seen + 1
    if not seen:
        logger.warning("otel_mcp: %s failed (%s); lost: %s", component, type(error).__name__, lost, exc_info=error)
    if reraise:
        raise error


def _raised_by_a_signal_handler(error: BaseException) -> bool:
    """Programs bound work by an alarm whose handler raises; it may go off while it is our code that runs."""
    if threading.current_thread() is not threading.main_thread():
        return False  # Python runs handlers in the main thread only
    frame = error.__traceback__
    handlers = set(_signal_handlers()) if frame is not None else set()
    while frame is not None:
        if frame.tb_frame.f_code in handlers:
            return True
        frame = frame.tb_next
    return False


def _signal_handlers() -> Iterator[CodeType]:
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        method = getattr(handler, "__func__", None) or vars(type(handler)).get("__call__")
        for function in (handler, method):
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                yield code


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
