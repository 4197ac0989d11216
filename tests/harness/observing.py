"""A program run twice, without us and with us: what it saw has to be the same, what we saw is looked at."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

import anyio

from harness.sessions import innermost
from otel_mcp import testing

LONG_ENOUGH = 40
"""Seconds; for a program that hangs."""


class Hung(BaseException):
    """The program did not come to its end."""


@contextlib.contextmanager
def bounded(seconds: int = LONG_ENOUGH) -> Iterator[None]:
    """Ends what hangs by a signal: a cancel scope or a timer would be a time limit that the code under test sees."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Hung(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Program:
    """Notes what each of its calls gave it."""

    def __init__(self) -> None:
        self.saw: list[Any] = []

    async def call(self, awaitable: Awaitable[Any]) -> Any:
        try:
            result = await awaitable
        except BaseException as error:
            self.saw.append(described(error))
            raise
        self.saw.append(result.model_dump() if hasattr(result, "model_dump") else result)
        return result

    async def quiet_call(self, awaitable: Awaitable[Any]) -> Any:
        """``call`` for a task whose exception, but for a cancellation, interests nobody."""
        with contextlib.suppress(Exception):
            return await self.call(awaitable)


def described(error: BaseException) -> tuple[str, str, str]:
    """Type, arguments and context of an exception, without what differs from one run to the next."""
    arguments = re.sub(r"cb=\[[^\]]*\]|0x[0-9a-f]+|\b[0-9a-f]{8,}\b|127\.0\.0\.1:\d+|\bTask-\d+", "#", repr(error.args))
    return f"{type(error).__module__}.{type(error).__qualname__}", arguments, type(error.__context__).__name__


Scenario = Callable[[Program], Awaitable[None]]


def run(scenario: Scenario, backend: str = "asyncio") -> list[Any]:
    """What the program saw; last, what left it."""
    program = Program()

    async def main() -> None:
        try:
            await scenario(program)
        except Hung:
            raise
        except BaseException as error:
            program.saw.append(("left", *described(innermost(error))))

    with bounded():
        anyio.run(main, backend=backend)
    return program.saw


def run_watched(scenario: Scenario, backend: str = "asyncio") -> testing.Capture:
    """Runs the program without us and with us.

    Raises:
        AssertionError: it did not see the same both times.
    """
    plain = run(scenario, backend)
    with testing.capture() as seen:
        watched = run(scenario, backend)
    assert watched == plain, f"without us: {plain}; with us: {watched}"
    return seen
