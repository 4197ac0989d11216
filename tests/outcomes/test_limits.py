"""A time limit of the caller, in every construct that sets one, told from a caller that gives up for another reason."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from harness.observing import Program, run_watched
from harness.servers import HttpServer, Servers
from harness.sessions import call_tool, client_session
from outcomes.expected import CANCELLED, Expected, check, deadline

LIMIT = 0.3
TableRow = Callable[[str, str], None]
Construct = Callable[[Program, Callable[[], Awaitable[Any]]], Awaitable[None]]


async def fail_after(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError), anyio.fail_after(LIMIT):
        await it.call(call())


async def move_on_after(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with anyio.move_on_after(LIMIT):
        await it.call(call())


async def wait_for(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(it.call(call()), LIMIT)


async def wait_for_a_gather(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.gather(it.call(call()), asyncio.sleep(0)), LIMIT)


async def fail_after_a_gather(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError), anyio.fail_after(LIMIT):
        await asyncio.gather(it.call(call()), asyncio.sleep(0))


async def wait_for_an_anyio_group(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    async def group() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.call, call())

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(group(), LIMIT)


async def move_on_after_an_anyio_group(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with anyio.move_on_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.call, call())


async def timeout(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT):
            await it.call(call())


async def timeout_of_a_gather(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(it.call(call()), asyncio.sleep(0))


async def timeout_of_a_task_group(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
            group.create_task(it.call(call()))


async def timeout_of_an_anyio_group(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT), anyio.create_task_group() as tasks:
            tasks.start_soon(it.call, call())


async def wait_for_a_task_group(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(it.call(call()))

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(group(), LIMIT)


async def wait_for_a_task(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    task = asyncio.ensure_future(it.call(call()))
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(task, LIMIT)


EVERYWHERE = {"fail_after": fail_after, "move_on_after": move_on_after, "move_on_after, anyio group":
              move_on_after_an_anyio_group}  # fmt: skip
ASYNCIO = {
    "wait_for": wait_for,
    "wait_for, gather": wait_for_a_gather,
    "wait_for, task": wait_for_a_task,
    "wait_for, anyio group": wait_for_an_anyio_group,
    "fail_after, gather": fail_after_a_gather,
}
FROM_3_11: dict[str, Construct] = {
    "asyncio.timeout": timeout,
    "asyncio.timeout, gather": timeout_of_a_gather,
    "asyncio.timeout, TaskGroup": timeout_of_a_task_group,
    "asyncio.timeout, anyio group": timeout_of_an_anyio_group,
    "wait_for, TaskGroup": wait_for_a_task_group,
}
LIMITS: dict[str, Construct] = {**EVERYWHERE, **ASYNCIO, **(FROM_3_11 if sys.version_info >= (3, 11) else {})}


def hanging(target: Any, construct: Construct) -> Callable[[Program], Awaitable[None]]:
    async def program(it: Program) -> None:
        async with client_session(target) as session:
            await construct(it, lambda: call_tool(session, "hang"))
            await it.call(call_tool(session, "echo"))

    return program


@pytest.mark.parametrize("name", LIMITS)
def test_a_callers_time_limit_is_a_deadline_of_the_caller(name: str, http: HttpServer, table_row: TableRow) -> None:
    table_row("outcomes", f"limit: {name}")
    seen = run_watched(hanging(http.target, LIMITS[name]))
    check(seen, "hang", deadline("caller", LIMIT))


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_callers_time_limit_is_a_deadline_under_trio(name: str, module_servers: Servers, table_row: TableRow) -> None:
    table_row("outcomes", f"limit: {name} (trio)")
    seen = run_watched(hanging(module_servers.stdio().target, EVERYWHERE[name]), "trio")
    check(seen, "hang", deadline("caller", LIMIT))


async def cancel_of_a_task(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    task = asyncio.ensure_future(it.call(call()))
    await asyncio.sleep(LIMIT)
    task.cancel()
    await asyncio.wait([task])


async def cancel_inside_a_longer_limit(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    async def later(task: Any) -> None:
        await asyncio.sleep(LIMIT)
        task.cancel()

    task = asyncio.ensure_future(asyncio.wait_for(it.call(call()), 60))
    await later(task)
    await asyncio.wait([task])


async def cancel_of_a_scope(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(it.call, call())
        await anyio.sleep(LIMIT)
        tasks.cancel_scope.cancel()


async def failed_sibling(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    async def fail() -> None:
        await anyio.sleep(LIMIT)
        raise ValueError("the sibling failed")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.call, call())
            tasks.start_soon(fail)
    except BaseException as group:
        it.saw.append(type(group).__name__)


async def cancel_after_a_handled_timeout(it: Program, call: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.sleep(60), 0.01)
    await cancel_of_a_task(it, call)


CANCELS: dict[str, Construct] = {
    "task.cancel()": cancel_of_a_task,
    "task.cancel() inside a longer wait_for": cancel_inside_a_longer_limit,
    "task.cancel() after a handled time-out": cancel_after_a_handled_timeout,
    "scope.cancel()": cancel_of_a_scope,
    "sibling failed": failed_sibling,
}


@pytest.mark.parametrize("name", CANCELS)
def test_a_caller_that_gives_up_for_another_reason_is_cancelled(
    name: str, http: HttpServer, table_row: TableRow
) -> None:
    table_row("outcomes", f"cancel: {name}")
    seen = run_watched(hanging(http.target, CANCELS[name]))
    check(seen, "hang", CANCELLED)


@pytest.mark.parametrize("name", ["scope.cancel()", "sibling failed"])
def test_a_caller_that_gives_up_is_cancelled_under_trio(
    name: str, module_servers: Servers, table_row: TableRow
) -> None:
    table_row("outcomes", f"cancel: {name} (trio)")
    seen = run_watched(hanging(module_servers.stdio().target, CANCELS[name]), "trio")
    check(seen, "hang", CANCELLED)


def test_the_known_limit_stands_on_a_call_that_was_answered(http: HttpServer) -> None:
    async def program(it: Program) -> None:
        async with client_session(http.target, read_timeout=60) as session:
            with anyio.fail_after(50):
                await it.call(call_tool(session, "echo"))

    seen = run_watched(program)
    check(seen, "echo", Expected("ok", source="caller", limit=50))
    assert seen.calls[0].fields["limits"]["sdk"] == 60
    assert 49 < seen.metric("otel_mcp.client.limit")[0].value <= 50
