"""Whether an event loop still turns, and what keeps it from turning."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

BLOCKED_AFTER: Final = 0.05
"""Seconds within which a turning loop answers: a healthy one needs well below a millisecond."""

Loop = tuple[Any, int]
"""Something a callback can be handed to from another thread, and the thread it runs in."""


def current() -> Loop | None:
    """The event loop that is running in this thread."""
    loop = asyncio._get_running_loop()
    if loop is not None:
        return loop, threading.get_ident()
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_trio_token(), threading.get_ident()
        except RuntimeError:
            return None
    return None


def is_blocked(loop: Loop) -> bool:
    """Whether a callback handed to the loop was not run within 50 ms. To be asked from another thread."""
    runner, _ = loop
    turned = threading.Event()
    hand_over: Callable[..., Any] = getattr(runner, "call_soon_threadsafe", None) or runner.run_sync_soon
    try:
        hand_over(turned.set)
    except RuntimeError:
        return False  # closed: whoever waits on it does not wait for a line of code
    return not turned.wait(BLOCKED_AFTER)


def blocked_at(loop: Loop) -> str | None:
    """The line the loop's thread is in: ``file.py:12 in function``. None where the thread has ended."""
    frame: FrameType | None = sys._current_frames().get(loop[1])
    if frame is None:
        return None
    code = frame.f_code
    name = code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}:{frame.f_lineno} in {code.co_name}"
