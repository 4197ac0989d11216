"""Many calls, many names, many servers: what is kept stays bounded.

The peer is a stand-in over memory streams, because ten thousand calls of a server in another process take a minute.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import ClientSession
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from harness.sessions import MAJOR
from otel_mcp import hooks, testing
from otel_mcp._ground.labels import MAX_CONNECTORS
from otel_mcp._ledger import connector, model
from otel_mcp._ledger.ledger import ledger
from otel_mcp._record.recorder import recorder

pytestmark = pytest.mark.anyio

NO_SUCH_TOOL = -32602
MANY = 10_000 if sys.version_info >= (3, 13) else 2_000
"""Older Pythons take half a minute for the larger number, and differ in nothing that is counted here."""


@contextlib.asynccontextmanager
async def session_that_refuses() -> AsyncIterator[ClientSession]:
    """Its peer answers each request with an error, at once."""
    async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as tasks:

        async def peer() -> None:
            async for item in read:
                message = getattr(item.message, "root", item.message)
                if getattr(message, "id", None) is not None:
                    await write.send(SessionMessage(answer(message.id)))

        tasks.start_soon(peer)
        async with ClientSession(*client) as session:
            yield session
        tasks.cancel_scope.cancel()


def answer(request_id: Any) -> Any:
    error = types.ErrorData(code=NO_SUCH_TOOL, message="no such tool")
    made = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
    return types.JSONRPCMessage(made) if MAJOR == 1 else made


def kept() -> Counter[str]:
    """Objects of the ledger that are alive, and what the recorder's caches hold."""
    gc.collect()
    kinds = (model.Call, model.Attempt, model.Session, connector.Connector)
    alive = Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, kinds))
    sets = recorder.metrics._sets
    alive["sets"] = sum(len(entry.values) for entry in sets.values())
    alive["span attributes"] = sum(len(s.span_cache) for c in ledger.connectors.values() for s in c.sessions.values())
    return alive


async def call(session: ClientSession, first: int, last: int) -> None:
    for number in range(first, last):
        with contextlib.suppress(Exception):
            await session.call_tool(f"invented {number}", {})


async def test_thousands_of_calls_of_invented_tools_make_one_label_and_leave_memory_flat() -> None:
    with testing.capture() as seen:
        recorder.bind_tracer_provider(None)  # the in-memory exporter would keep every span
        recorder.call_log = None
        async with session_that_refuses() as session:
            await call(session, 0, 1_000)
            early = kept()
            await call(session, 1_000, MANY)
            late = kept()
    assert not late - early  # what a test before this one has left may go meanwhile
    assert seen.total("otel_mcp.client.calls", {"otel_mcp.outcome": "error"}) == MANY
    (point,) = seen.metric("mcp.client.operation.duration", {"mcp.method.name": "tools/call"})
    assert (point.count, point.attributes["gen_ai.tool.name"]) == (MANY, "_other")
    (connector,) = seen.statistics().connectors.values()
    assert (connector.attempts, connector.open) == (MANY, ())


async def test_spans_of_invented_tools_share_one_name_and_keep_the_raw_one() -> None:
    with testing.capture() as seen:
        async with session_that_refuses() as session:
            await call(session, 0, 3)
            late = kept()
    spans = [span for span in seen.spans if span.kind == "CLIENT"]
    assert {span.name for span in spans} == {"tools/call _other"}
    assert [span.attributes["gen_ai.tool.name"] for span in spans] == ["invented 0", "invented 1", "invented 2"]
    assert late["span attributes"] <= 256


def test_two_hundred_connectors_have_a_label_the_others_share_one() -> None:
    with testing.capture() as seen:
        for number in range(MAX_CONNECTORS + 50):
            with hooks.call(f"connector {number}", tool="search"):
                pass
    ok = seen.metric("otel_mcp.client.calls", {"otel_mcp.outcome": "ok"})
    assert len(ok) == MAX_CONNECTORS + 1
    assert {p.value for p in ok if p.attributes["otel_mcp.connector"] == "_other"} == {50}
    assert seen.calls[-1].connector == f"connector {MAX_CONNECTORS + 49}", "the log has the raw name"
    folded = {p.attributes["otel_mcp.label"]: p.value for p in seen.metric("otel_mcp.labels.folded")}
    assert folded["otel_mcp.connector"] >= 50
    assert all(len(seen.metric(name)) < 2_000 for name in ("otel_mcp.client.calls", "otel_mcp.client.call.duration"))
