"""What lies above the SDK and the SDK's own call are one call, whether or not the layer knows the tool."""

from __future__ import annotations

import pytest
from mcp import ClientSession
from stress.peer import connected

from harness.sessions import call_tool
from otel_mcp import hooks, testing

pytestmark = pytest.mark.anyio


async def test_a_layer_that_does_not_know_the_tool_learns_it_by_its_first_request() -> None:
    with testing.capture() as seen:
        async with connected("ok", "peer") as streams, ClientSession(*streams) as session:
            await session.initialize()
            with hooks.call("peer"):
                await call_tool(session, "ok")
    (call,) = seen.calls
    assert (call.tool, call.outcome, call.attempts) == ("ok", "ok", 1)


async def test_another_tool_inside_a_layers_call_is_a_call_of_its_own() -> None:
    with testing.capture() as seen:
        async with connected("ok", "peer") as streams, ClientSession(*streams) as session:
            await session.initialize()
            with hooks.call("peer", tool="ok"):
                await call_tool(session, "ok")
                await call_tool(session, "slow")
    assert sorted((call.tool or "", call.attempts) for call in seen.calls) == [("ok", 1), ("slow", 1)]
