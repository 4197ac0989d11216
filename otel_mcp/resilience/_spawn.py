"""Start a task that its starter can leave behind.

A task group waits for its children, so a child that swallows cancellation holds its parent for ever. A hard deadline
therefore needs a task without a parent: a plain task on asyncio, a system task on trio. anyio has no name for either.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

Cancel = Callable[[], None]

_AGAIN: Final = 1.0
"""Seconds between two cancellations of a task that does not end: often enough that nothing hangs for good, rare enough
to cost nothing."""

_running: set[Any] = set()
"""asyncio keeps only weak references to its tasks; this is bookkeeping for the event loop, not state of ours."""


def spawn(body: Callable[[], Awaitable[None]], name: str) -> Cancel:
    """Run `body` in a task of its own with a copy of the current context; returns what cancels it.

    `body` must not raise: on trio an exception in a system task takes the whole run down.
    """
    if in_trio():
        return _spawn_trio(body, name)
    return _spawn_asyncio(body, name)


def in_trio() -> bool:
    """Whether the code that asks runs in a trio task; never imports trio."""
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def _spawn_asyncio(body: Callable[[], Awaitable[None]], name: str) -> Cancel:
    import asyncio

    begun = False

    async def run() -> None:
        nonlocal begun
        begun = True
        await body()

    loop = asyncio.get_running_loop()
    task = loop.create_task(run(), name=name)
    _running.add(task)
    task.add_done_callback(_running.discard)

    # Not through an anyio scope: a scope delivers its cancellation again on every turn of the loop until the task ends,
    # which burns a core for as long as a callee that swallows it is left behind. But not once and for all either: a
    # callee that swallowed it in one place may go on to wait for ever in the next.
    def cancel() -> None:
        if task.done():
            return
        if begun:
            task.cancel()
            loop.call_later(_AGAIN, cancel)
        else:
            # Of a task that is cancelled before its first step asyncio runs nothing, not even a `finally`.
            loop.call_soon(cancel)

    return cancel


def _spawn_trio(body: Callable[[], Awaitable[None]], name: str) -> Cancel:
    import trio

    scope = trio.CancelScope()

    async def run() -> None:
        with scope:
            await body()

    trio.lowlevel.spawn_system_task(run, name=name, context=contextvars.copy_context())
    return scope.cancel
