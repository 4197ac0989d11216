"""What a call says is kept only where somebody asks for it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import pytest

from harness.observing import Program, Scenario, run
from harness.servers import Servers
from harness.sessions import call_tool, client_session
from otel_mcp import testing
from otel_mcp._ground import catalogue as c
from otel_mcp._record.recorder import recorder
from otel_mcp.testing import Span

WORD = "swordfish"


@contextlib.contextmanager
def _captured(program: Scenario, *, capture: bool = True) -> Iterator[testing.Capture]:
    """What is seen of a program, with content or without."""
    with testing.capture() as seen:
        recorder.settings = dataclasses.replace(recorder.settings, capture_content=capture)
        try:
            run(program)
        finally:
            recorder.settings = dataclasses.replace(recorder.settings, capture_content=False)
        yield seen


def _spans(servers: Servers, *, capture: bool) -> list[Span]:
    server = servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.call(call_tool(session, "echo", {"text": WORD}))
            await it.call(call_tool(session, "reject", {"text": f"no, {WORD}"}))
            await it.quiet_call(call_tool(session, "rpc_error", {"message": f"never, {WORD}"}))

    with _captured(program, capture=capture) as seen:
        return [span for span in seen.spans if span.name.startswith("tools/call")]


def test_no_span_holds_arguments_results_or_messages_by_default(servers: Servers) -> None:
    spans = _spans(servers, capture=False)
    assert len(spans) == 3
    assert WORD not in repr(spans)


def test_arguments_and_results_stand_on_the_span_where_they_are_asked_for(servers: Servers) -> None:
    echo, reject, _ = _spans(servers, capture=True)
    assert echo.attributes["gen_ai.tool.call.arguments"] == f'{{"text": "{WORD}"}}'
    assert WORD in str(echo.attributes["gen_ai.tool.call.result"])
    assert WORD in str(reject.attributes["gen_ai.tool.call.result"])


def test_what_is_captured_stands_on_spans_and_nowhere_else(servers: Servers) -> None:
    server = servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.call(call_tool(session, "reject", {"text": f"no, {WORD}"}))

    with _captured(program) as seen:
        assert WORD in repr(seen.spans)
        assert WORD not in repr(seen.events())
        assert not [row for row in c.INSTRUMENTS if WORD in repr(seen.metric(row.name))]


@pytest.mark.parametrize("length", [10, 5000])
def test_captured_content_is_cut_like_every_attribute(length: int, servers: Servers) -> None:
    server = servers.stdio()

    async def program(it: Program) -> None:
        async with client_session(server.target) as session:
            await it.call(call_tool(session, "echo", {"text": "x" * length}))

    with _captured(program) as seen:
        (span,) = [span for span in seen.spans if span.name.startswith("tools/call")]
    assert all(len(str(value)) <= 200 for value in span.attributes.values())
