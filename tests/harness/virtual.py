"""Virtual time for both backends: when nothing can run, the clock jumps to the next timer.

trio has it built in (`MockClock`); for asyncio the selector is told never to wait. Code under test reads only anyio's
clock, so a test of a cool-down of an hour takes a millisecond and its numbers are exact.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from trio.testing import MockClock

T = TypeVar("T")

BACKENDS = ("asyncio", "trio")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time moves only when it would otherwise wait."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        self._now += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing can ever run again: a wait that no timer bounds")
        if not ready and timeout:
            # The same resolution that asyncio itself allows its timers.
            self._loop.jump(max(timeout, 1e-9))
        return ready


def options(backend: str) -> dict[str, Any]:
    """Backend options for `anyio.run` that make time virtual."""
    return {"loop_factory": VirtualLoop} if backend == "asyncio" else {"clock": MockClock(autojump_threshold=0)}


def run(backend: str, body: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run `body` under virtual time."""
    return anyio.run(body, *args, backend=backend, backend_options=options(backend))
