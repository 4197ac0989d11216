"""Whose clock it was, at a price that does not grow with what else is open, and with nothing kept alive."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import sys
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import FrameType
from typing import Any

import anyio
import pytest

from otel_mcp import testing
from otel_mcp._sdk import clocks

LIMIT = 0.01
HOURS = 10_000.0

Asked = list[tuple[clocks.Cut | None, int]]
Way = Callable[[list[Coroutine[Any, Any, None]]], Awaitable[None]]


@pytest.fixture(autouse=True)
def hooks() -> Iterator[None]:
    with testing.capture():
        yield


async def call(asked: Asked) -> None:
    """Asks as a call does that is cut off; notes the answer, and how many functions of the module ran for it."""
    steps = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event == "call" and frame.f_code.co_filename == clocks.__file__

    try:
        await asyncio.sleep(HOURS)
    finally:
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            cut = clocks.cut_by_caller(math.inf, None, 0.0)
        finally:
            sys.setprofile(before)
        asked.append((cut, steps))


async def cancelled(calls: list[Coroutine[Any, Any, None]]) -> None:
    tasks = [asyncio.ensure_future(each) for each in calls]
    await asyncio.sleep(LIMIT)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def wait_for_a_gather(calls: list[Coroutine[Any, Any, None]]) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.gather(*calls), LIMIT)


async def wait_for_each(calls: list[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*(asyncio.wait_for(each, LIMIT) for each in calls), return_exceptions=True)


async def scope_around_a_gather(calls: list[Coroutine[Any, Any, None]]) -> None:
    with anyio.move_on_after(LIMIT):
        await asyncio.gather(*calls)


async def wait_for_an_anyio_group(calls: list[Coroutine[Any, Any, None]]) -> None:
    async def group() -> None:
        async with anyio.create_task_group() as tasks:
            for each in calls:
                tasks.start_soon(lambda each=each: each)

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(group(), LIMIT)


def asked(way: Way, number: int) -> Asked:
    answers: Asked = []

    async def main() -> None:
        await way([call(answers) for _ in range(number)])

    asyncio.run(main())
    assert len(answers) == number
    return answers


LIMITS: list[Way] = [wait_for_a_gather, wait_for_each, scope_around_a_gather, wait_for_an_anyio_group]


@pytest.mark.parametrize("way", [cancelled, *LIMITS])
def test_what_a_cancellation_costs_does_not_grow_with_the_calls_beside_it(way: Way) -> None:
    asked(way, 1)  # what is looked up once
    few, many = asked(way, 3), asked(way, 60)
    assert max(steps for _, steps in many) <= max(steps for _, steps in few)
    assert {cut is not None for cut, _ in few + many} == {way in LIMITS}


def test_the_limit_is_the_one_of_the_task_that_waits() -> None:
    (cut, _) = asked(wait_for_a_gather, 1)[0]
    assert cut == clocks.Cut(LIMIT)


def test_a_limit_around_a_longer_limit_is_seen_through_it() -> None:
    async def nested(calls: list[Coroutine[Any, Any, None]]) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wait_for(calls[0], HOURS), LIMIT)

    assert asked(nested, 1)[0][0] is not None


def test_a_task_that_does_not_pass_its_cancellation_on_is_not_asked_for_its_limit() -> None:
    async def shielded(calls: list[Coroutine[Any, Any, None]]) -> None:
        inner = asyncio.ensure_future(calls[0])
        task = asyncio.ensure_future(asyncio.sleep(HOURS))
        inner.add_done_callback(lambda _: task.cancel())
        inner.add_done_callback(task.cancel)
        with anyio.move_on_after(LIMIT):
            try:
                await asyncio.shield(inner)
            finally:
                inner.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([inner, task])

    assert asked(shielded, 1)[0][0] is None


def test_a_timer_that_fired_is_let_go_with_its_task() -> None:
    class Result:
        pass

    async def work() -> Result:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.sleep(HOURS), LIMIT)
        return Result()

    async def main() -> bool:
        task = asyncio.ensure_future(work())
        result = weakref.ref(await task)
        del task
        await asyncio.sleep(0)
        gc.collect()
        return result() is None

    assert asyncio.run(main())
