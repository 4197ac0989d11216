"""Waiting for something outside this process, bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio

T = TypeVar("T")
_PAUSE = 0.02


def wait_for(look: Callable[[], T], *, timeout: float = 20.0, pause: float = _PAUSE) -> T:
    """The first truthy value of ``look``; ``pause``: seconds between two looks, where a look costs something.

    Raises:
        AssertionError: nothing truthy came within ``timeout`` seconds; names the last value seen.
    """
    end = time.monotonic() + timeout
    while not (value := look()):
        if time.monotonic() > end:
            raise AssertionError(f"nothing came within {timeout:g} s; last seen: {value!r}")
        time.sleep(pause)
    return value


async def await_for(look: Callable[[], T], *, timeout: float = 20.0) -> T:
    """``wait_for`` that lets the event loop run between two looks."""
    value = look()
    with anyio.move_on_after(timeout):
        while not value:
            await anyio.sleep(_PAUSE)
            value = look()
    if not value:
        raise AssertionError(f"nothing came within {timeout:g} s; last seen: {value!r}")
    return value
