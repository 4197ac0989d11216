"""A fault of our own in the middle of the bookkeeping costs a field, not the record."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from mcp import ClientSession
from stress.peer import connected

from harness.sessions import call_tool
from harness.waiting import await_for
from otel_mcp import testing
from otel_mcp._ground import guard
from otel_mcp._record import spans
from otel_mcp._sdk import clocks

pytestmark = pytest.mark.anyio


@pytest.fixture
def swallowing(monkeypatch: pytest.MonkeyPatch, our_warnings: list[str]) -> Any:
    """As in production: a fault of ours is counted and goes no further."""
    monkeypatch.setattr(guard, "reraise", False)
    yield
    our_warnings.clear()


async def test_a_call_whose_limits_cannot_be_found_out_is_recorded_and_open_no_more(
    monkeypatch: pytest.MonkeyPatch, swallowing: None
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(clocks, "cut_by_caller", fails)
    before = sum(guard.internal_errors().values())
    with testing.capture() as seen:
        async with connected("ok", "peer") as streams, ClientSession(*streams) as session:
            await session.initialize()
            task = asyncio.ensure_future(call_tool(session, "silent"))
            await await_for(lambda: seen.total("otel_mcp.client.request.active") == 1)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert seen.total("otel_mcp.client.request.active") == 0
    (call,) = seen.calls
    assert (call.outcome, call.attempts) == ("cancelled", 1)
    assert sum(guard.internal_errors().values()) > before


async def test_a_span_processor_that_fails_costs_the_span_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, swallowing: None
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a span processor's fault")

    with testing.capture() as seen:
        async with connected("ok", "peer") as streams, ClientSession(*streams) as session:
            await session.initialize()
            monkeypatch.setattr(spans, "start_attempt", fails)
            await call_tool(session, "ok")
            monkeypatch.undo()
            assert seen.total("otel_mcp.client.request.active") == 0
    (call,) = seen.calls
    assert (call.outcome, call.attempts) == ("ok", 1)
