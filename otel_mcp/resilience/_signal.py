"""Wait until something is true, without polling: whoever changes state says that there is news."""

from __future__ import annotations

import math
from collections.abc import Callable

import anyio


class News:
    """Wakes everyone who waits for a condition whenever `spread` is called."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def spread(self) -> None:
        """Something changed: let everybody look again."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def until(self, condition: Callable[[], bool], moment: float = math.inf) -> bool:
        """Wait for `condition`, at most until `moment` on anyio's clock; whether it holds."""
        with anyio.move_on_after(max(0.0, moment - anyio.current_time())):
            while not condition():
                if self._event is None:
                    self._event = anyio.Event()
                await self._event.wait()
        return condition()
