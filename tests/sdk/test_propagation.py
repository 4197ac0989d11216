"""Trace context on its way to the server, and what is left as the caller had it."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import mcp.types as types
import pytest

from harness.servers import HttpServer, Servers
from harness.sessions import MAJOR, call_tool, client_session, text
from otel_mcp import testing
from otel_mcp.testing import Capture, Span

pytestmark = pytest.mark.anyio


def tool_span(seen: Capture, tool: str) -> Span:
    (span,) = [span for span in seen.spans if span.attributes.get("gen_ai.tool.name") == tool]
    return span


def names(told: dict[str, Any], span: Span) -> bool:
    """The flags behind the ids are the provider's."""
    return str(told["traceparent"]).startswith(f"00-{span.trace_id}-{span.span_id}-")


@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_the_server_is_told_the_attempts_span(kind: str, http: HttpServer, module_servers: Servers) -> None:
    target: Any = {"http": http.target, "sse": http.sse}.get(kind) or module_servers.stdio().target
    with testing.capture() as seen:
        async with client_session(target) as session:
            told = json.loads(text(await call_tool(session, "meta")))
    assert names(told, tool_span(seen, "meta"))


async def test_the_callers_own_meta_is_kept_and_its_mapping_left_alone(http: HttpServer) -> None:
    mine = {"tenant": "north", "example.com/depth": 3}
    before = copy.deepcopy(mine)
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta", meta=mine)))
    assert mine == before
    assert {key: told[key] for key in mine} == before
    assert names(told, tool_span(seen, "meta"))


async def test_a_progress_token_reaches_the_server_beside_the_trace_context(http: HttpServer) -> None:
    steps = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    with testing.capture() as seen:
        async with client_session(http.target) as session:
            await call_tool(session, "progress", {"steps": 2}, progress_callback=progressed)
    assert steps == [1, 2]
    assert tool_span(seen, "progress").status == "UNSET"


def request(meta: bool) -> Any:
    given: dict[str, Any] = {"name": "meta", "arguments": {}}
    if meta:
        given["_meta"] = {"tenant": "north"}
    made = types.CallToolRequest(method="tools/call", params=types.CallToolRequestParams.model_validate(given))
    return made if MAJOR == 2 else types.ClientRequest(made)


@pytest.mark.parametrize("meta", [False, True])
async def test_the_callers_request_object_is_never_changed(meta: bool, http: HttpServer) -> None:
    mine = request(meta)
    parts = [id(mine), id(getattr(mine, "root", mine).params)]
    before = mine.model_dump(by_alias=True)
    with testing.capture():
        async with client_session(http.target) as session:
            for _ in range(2):
                result = await session.send_request(mine, types.CallToolResult)
                assert json.loads(text(result))["traceparent"]
    assert mine.model_dump(by_alias=True) == before
    assert parts == [id(mine), id(getattr(mine, "root", mine).params)]
    assert getattr(mine, "root", mine).params.model_fields_set >= {"name", "arguments"}


async def test_nothing_is_put_in_where_no_span_is_recorded(http: HttpServer) -> None:
    from otel_mcp._record.recorder import recorder

    with testing.capture():
        recorder.bind_tracer_provider(None)
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta")))
    assert "traceparent" not in told


async def test_the_attempts_span_hangs_below_the_programs_own_span(http: HttpServer) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("program")
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            with tracer.start_as_current_span("step") as step:
                await call_tool(session, "echo")
    context = step.get_span_context()
    span = tool_span(seen, "echo")
    assert (span.trace_id, span.parent_id) == (format(context.trace_id, "032x"), format(context.span_id, "016x"))
    assert seen.calls[0].fields["trace_id"] == span.trace_id
    assert seen.calls[0].fields["span_id"] == span.span_id


@pytest.mark.skipif(MAJOR == 2, reason="2.x puts the trace context in itself, and we make the span current for it")
async def test_what_an_instrumentor_below_us_puts_into_meta_stays(
    http: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.session import BaseSession

    original = BaseSession.send_request
    theirs = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"

    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.root.method == "tools/call":
            assert isinstance(request, types.ClientRequest)
            request.root.params.meta = types.RequestParams.Meta.model_validate({"traceparent": theirs})
        return await original(self, request, *args, **kwargs)

    monkeypatch.setattr(BaseSession, "send_request", send_request)
    with testing.capture():
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta")))
    assert told["traceparent"] == theirs


async def test_a_trace_parent_that_the_caller_copied_from_elsewhere_gives_way_to_the_attempts(http: HttpServer) -> None:
    stale = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta", meta=stale)))
    assert names(told, tool_span(seen, "meta"))


@pytest.mark.skipif(MAJOR == 2, reason="2.x puts the trace context in itself, and we make the span current for it")
async def test_an_instrumentor_below_us_that_would_make_a_request_anew_sends_ours(
    http: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.session import BaseSession

    original = BaseSession.send_request

    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):  # as Datadog's does
            request = type(request)(request.root)
        return await original(self, request, *args, **kwargs)

    monkeypatch.setattr(BaseSession, "send_request", send_request)
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta")))
    assert names(told, tool_span(seen, "meta"))


def pickled(request: Any) -> Any:
    return pickle.loads(pickle.dumps(request))  # noqa: S301 - our own


@pytest.mark.skipif(MAJOR == 2, reason="2.x puts the trace context in itself, and we make the span current for it")
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
async def test_an_instrumentor_below_us_that_copies_a_request_gets_a_request(
    duplicate: Callable[[Any], Any], http: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.session import BaseSession

    original = BaseSession.send_request
    kept = []

    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        kept.append(duplicate(request))
        return await original(self, kept[-1], *args, **kwargs)

    monkeypatch.setattr(BaseSession, "send_request", send_request)
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            told = json.loads(text(await call_tool(session, "meta")))
    assert {request.root.method: type(request.root) for request in kept}["tools/call"] is types.CallToolRequest
    if duplicate is not pickled:
        assert names(told, tool_span(seen, "meta"))
