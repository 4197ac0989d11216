"""One awaitable under way, in a task of its own, so that whoever waits for it can always leave."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from otel_mcp.resilience._errors import CallEndedAbruptly
from otel_mcp.resilience._spawn import Cancel, spawn

GRACE: Final = 0.05
"""Seconds that a callee gets to acknowledge its cancellation before it is left behind. A callee that behaves needs a
few turns of the loop, well under a millisecond; more would be an overrun of a deadline that is promised to be hard."""

enclosing: contextvars.ContextVar[Flight | None] = contextvars.ContextVar("otel_mcp_enclosing_flight", default=None)
"""The flight this code runs in: its limit is invisible to `anyio.current_effective_deadline`, because a flight is not
a child of the scope that waits for it."""


class Flight:
    """A call under way. Times are absolute, on anyio's clock.

    `settled` is set when the waiter may go, `over` when the task has ended; between the two it is left behind.
    `answered` is set when the callee came to an end of its own, however late, and not through our cancellation.
    """

    def __init__(self, fn: Callable[[], Awaitable[Any]], limit: float, name: str = "otel_mcp call") -> None:
        self._fn = fn
        self.limit = limit
        self.value: Any = None
        self.error: BaseException | None = None
        self.settled = anyio.Event()
        self.over = anyio.Event()
        self.answered = anyio.Event()
        self.let_go = False
        self._cancel: Cancel | None = None
        self._name = name

    def start(self) -> None:
        """Begin; returns at once."""
        self._cancel = spawn(self._run, self._name)

    @property
    def left_behind(self) -> bool:
        """Whether the waiter has gone and the task has not ended."""
        return self.let_go and not self.over.is_set()

    def interrupt(self, error: BaseException | None, *, gently: bool = False) -> None:
        """Let the waiter go with `error` now, if it still waits, and cancel the task. Returns at once.

        `gently` leaves the task the grace to end by itself first, where somebody else has told it to.
        """
        if not self.settled.is_set():
            self.error = error
            self.settled.set()
        self.let_go = True
        if self._cancel is not None and not self.over.is_set() and not gently:
            self._cancel()

    async def wait(self) -> bool:
        """Wait until settled or until the limit; False if the limit came first.

        The caller's own cancellation goes through: the callee is told, gets `GRACE`, and is not waited for longer.
        """
        try:
            with anyio.move_on_after(max(0.0, self.limit - anyio.current_time())):
                await self.settled.wait()
        except BaseException:
            await self._leave()
            raise
        if self.let_go and not self.over.is_set():
            # Interrupted: the waiter knows how it ended, and the task gets the same moment to end as after a deadline.
            await self._until_over()
            if not self.over.is_set():
                await self._leave()
        if self.settled.is_set():
            return True
        await self._leave()
        # A value that came while we were letting go is still an answer: throwing it away would turn a finished write
        # into an unknown one. An error then is more likely the noise of being cancelled.
        return self.settled.is_set() and self.error is None

    async def _leave(self) -> None:
        self.let_go = True
        if self._cancel is not None:
            self._cancel()
        await self._until_over()

    async def _until_over(self) -> None:
        with anyio.move_on_after(GRACE, shield=True):
            await self.over.wait()

    async def _run(self) -> None:
        enclosing.set(self)
        try:
            if not self.let_go:  # otherwise its waiter went before it could begin
                self._settle(await _awaitable(self._fn), None)
        except anyio.get_cancelled_exc_class() as cancelled:
            # Swallowed on purpose: this task ends here anyway, and nobody is above it who could be told.
            abrupt = CallEndedAbruptly("the call was cancelled by neither its caller nor its deadline")
            abrupt.__cause__ = cancelled if not self.let_go else None
            self._settle(None, abrupt)
        except BaseException as error:  # noqa: BLE001 - handed to the waiter, who raises what is not an Exception
            self._settle(None, error)
        finally:
            self.over.set()

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if not isinstance(error, CallEndedAbruptly):
            self.answered.set()
        if not self.settled.is_set():
            self.value, self.error = value, error
            self.settled.set()


def _awaitable(fn: Any) -> Awaitable[Any]:
    if not callable(fn):
        if inspect.iscoroutine(fn):
            fn.close()  # it will not be awaited, and Python would say so once more
        raise NotAwaitable(f"pass a function, like lambda: session.call_tool(…), not what it returns: {fn!r}")
    awaitable: Awaitable[Any] = fn()
    if not inspect.isawaitable(awaitable):
        raise NotAwaitable(f"the function must return an awaitable, it returned {awaitable!r}")
    return awaitable


class NotAwaitable(TypeError):
    """The function given is not one that returns an awaitable: a mistake of the program, raised at once."""
