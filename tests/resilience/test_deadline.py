"""`call_with_deadline`, on virtual time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from harness.virtual import options
from otel_mcp.resilience import (
    CallEndedAbruptly,
    CallResult,
    CircuitBreaker,
    DeadlineInverted,
    Outcome,
    call_with_deadline,
    call_with_retry,
    guarded_call,
)
from otel_mcp.resilience._flight import Flight

pytestmark = pytest.mark.anyio


class RpcError(Exception):
    """The shape of both SDKs' error: a code below ``.error``."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.error = type("ErrorData", (), {"code": code})()


class ToolFailed:
    isError = True  # noqa: N815 - the name in mcp 1.x
    content = (type("Text", (), {"text": "use search_count instead"})(),)


async def swallow(seconds: float, ended: anyio.Event) -> str:
    """A callee that does not let itself be cancelled."""
    with anyio.CancelScope(shield=True):
        stop = anyio.current_time() + seconds
        while anyio.current_time() < stop:
            try:
                await anyio.sleep_until(stop)
            except BaseException:  # noqa: S112 - this is what the callee is about
                continue
    ended.set()
    return "late"


async def hang() -> None:
    await anyio.sleep_forever()


@pytest.mark.promise("three-way-result")
async def test_an_answer_in_time_is_ok_with_its_value_and_its_time() -> None:
    async def answer() -> str:
        await anyio.sleep(2)
        return "rows"

    result = await call_with_deadline(answer, 5)

    assert result == CallResult(Outcome.OK, value="rows", elapsed=pytest.approx(2))
    assert result.bucket == "ok"


async def test_a_call_that_is_interrupted_before_it_began_is_never_made_and_over_at_once() -> None:
    made: list[str] = []

    async def callee() -> None:
        made.append("a step")

    began = anyio.current_time()
    flight = Flight(callee, began + 5)
    flight.start()
    flight.interrupt(ConnectionError("gone"))
    assert await flight.wait()
    assert (flight.left_behind, made, anyio.current_time()) == (False, [], began)


@pytest.mark.promise("three-way-result")
async def test_no_answer_in_time_is_a_deadline_at_the_deadline() -> None:
    result = await call_with_deadline(hang, 5)

    assert (result.outcome, result.bucket, result.left_behind) == (Outcome.DEADLINE, "deadline", False)
    assert result.elapsed == pytest.approx(5)
    assert result.error_type == "timeout"
    assert isinstance(result.error, TimeoutError)


@pytest.mark.promise("three-way-result", "own-words-survive")
async def test_a_tool_error_keeps_the_servers_own_text() -> None:
    async def refuse() -> ToolFailed:
        return ToolFailed()

    result = await call_with_deadline(refuse, 5)

    assert (result.outcome, result.bucket) == (Outcome.TOOL_ERROR, "error")
    assert result.detail == "use search_count instead"
    assert isinstance(result.value, ToolFailed)


@pytest.mark.promise("no-exception-for-the-call")
@pytest.mark.parametrize(
    ("raised", "outcome", "detail"),
    [
        (ValueError("bad"), Outcome.ERROR, "ValueError: bad"),
        (RpcError(-32602, "no such tool"), Outcome.ERROR, "RpcError: no such tool"),
        (anyio.ClosedResourceError(), Outcome.DISCONNECTED, "ClosedResourceError"),
        (ConnectionResetError(), Outcome.DISCONNECTED, "ConnectionResetError"),
        (TimeoutError("inner limit"), Outcome.DEADLINE, "TimeoutError: inner limit"),
    ],
)
async def test_an_exception_becomes_an_outcome_with_its_type(raised: Exception, outcome: Outcome, detail: str) -> None:
    async def fail() -> None:
        raise raised

    result = await call_with_deadline(fail, 5)

    assert (result.outcome, result.detail, result.error) == (outcome, detail, raised)


@pytest.mark.promise("deadline-is-hard")
async def test_a_callee_that_swallows_its_cancellation_is_left_behind() -> None:
    ended = anyio.Event()

    result = await call_with_deadline(lambda: swallow(60, ended), 5)

    assert result.outcome is Outcome.DEADLINE
    assert result.left_behind
    assert result.elapsed == pytest.approx(5.05)
    assert not ended.is_set()
    await ended.wait()


@pytest.mark.promise("deadline-covers-writing")
async def test_a_write_that_never_gets_through_is_cut_off_too() -> None:
    send, receive = anyio.create_memory_object_stream[str](0)
    with send, receive:
        result = await call_with_deadline(lambda: send.send("request"), 5)

    assert result.outcome is Outcome.DEADLINE


@pytest.mark.promise("three-way-result")
async def test_an_answer_that_comes_while_we_let_go_is_still_an_answer() -> None:
    async def answer_instead_of_ending() -> str:
        try:
            await anyio.sleep_forever()
        except BaseException:
            return "committed"

    result = await call_with_deadline(answer_instead_of_ending, 5)

    assert (result.outcome, result.value) == (Outcome.OK, "committed")


@pytest.mark.promise("caller-cancel-passes")
@pytest.mark.parametrize("swallowing", [False, True])
async def test_the_callers_own_cancellation_goes_through(swallowing: bool) -> None:
    ended = anyio.Event()
    returned = []

    async def call() -> None:
        returned.append(await call_with_deadline(lambda: swallow(20, ended) if swallowing else hang(), 30))

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.sleep(3)
        group.cancel_scope.cancel()

    assert returned == []
    assert anyio.current_time() - began == pytest.approx(3.05 if swallowing else 3)
    if swallowing:
        await ended.wait()


@pytest.mark.promise("caller-cancel-passes")
async def test_a_caller_that_is_already_cancelled_is_not_told_about_an_inverted_deadline() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await call_with_deadline(hang, 5)

    assert scope.cancelled_caught


@pytest.mark.promise("caller-cancel-passes")
async def test_the_cancelled_callers_callee_has_cleaned_up_before_the_caller_goes_on() -> None:
    cleaned = []

    async def tidy() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append(True)

    with anyio.move_on_after(1):
        await call_with_deadline(tidy, 0.5)

    assert cleaned == [True]


@pytest.mark.promise("deadline-inverted")
@pytest.mark.parametrize("deadline", [10, 11])
async def test_a_deadline_not_shorter_than_the_scope_around_it_is_refused_with_both_values(deadline: float) -> None:
    called = []
    with anyio.fail_after(10), pytest.raises(DeadlineInverted, match=rf"{deadline} s .* scope of 10 s") as raised:
        await call_with_deadline(lambda: called.append(1) or hang(), deadline)

    assert (raised.value.deadline, raised.value.outer) == (deadline, pytest.approx(10))
    assert called == []


@pytest.mark.promise("deadline-inverted")
async def test_a_deadline_not_shorter_than_a_given_outer_limit_is_refused() -> None:
    with pytest.raises(DeadlineInverted, match="30 s is not shorter than the outer limit of 30 s"):
        await call_with_deadline(hang, 30, outer=30)


@pytest.mark.promise("deadline-inverted")
async def test_a_nested_call_with_a_longer_deadline_is_refused_and_seen_by_the_outermost_caller() -> None:
    async def nested() -> None:
        await call_with_deadline(hang, 9)

    with pytest.raises(DeadlineInverted, match="the deadline of the call around it"):
        await call_with_deadline(nested, 5)


@pytest.mark.promise("deadline-inverted")
async def test_a_task_that_outlives_the_call_it_was_started_in_is_free_of_its_limit() -> None:
    results = []

    async def outlive() -> None:
        await anyio.sleep(1)
        results.append(await call_with_deadline(hang, 60))

    async with anyio.create_task_group() as group:

        async def start() -> None:
            group.start_soon(outlive)

        await call_with_deadline(start, 5)

    assert [result.outcome for result in results] == [Outcome.DEADLINE]


@pytest.mark.promise("no-exception-for-the-call")
@pytest.mark.parametrize("anyio_backend", [("asyncio", options("asyncio"))])
async def test_a_callee_cancelled_by_a_third_party_is_cancelled_and_the_caller_is_not() -> None:
    async def cancelled_from_inside() -> None:
        asyncio.current_task().cancel()
        await anyio.sleep_forever()

    result = await call_with_deadline(cancelled_from_inside, 5)

    assert (result.outcome, result.bucket) == (Outcome.CANCELLED, "error")
    assert isinstance(result.error, CallEndedAbruptly)


async def test_what_is_no_exception_of_a_call_is_raised_by_the_caller() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await call_with_deadline(leave, 5)


async def test_a_function_that_returns_no_awaitable_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match="must return an awaitable, it returned 42"):
        await call_with_deadline(lambda: 42, 5)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("plain", [call_with_deadline, call_with_retry, partial(guarded_call, CircuitBreaker("odoo"))])
async def test_a_coroutine_in_place_of_a_function_is_a_mistake_of_the_program(plain: Callable[..., Any]) -> None:
    coroutine = anyio.sleep(1)
    with pytest.raises(TypeError, match=r"pass a function, like lambda: session\.call_tool"):
        await plain(coroutine, 5)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "5", None, True])
async def test_a_deadline_that_is_no_positive_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="deadline must be a positive number of seconds"):
        await call_with_deadline(hang, value)  # type: ignore[arg-type]
