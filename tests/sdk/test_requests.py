"""Requests of every method and way: what is a call, what is an attempt only, and what each looks like."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import mcp
import mcp.types as types
import pytest
from mcp import ClientSession, StdioServerParameters

import otel_mcp
from harness.children import run_script
from harness.package import path_entry
from harness.servers import HttpServer, Servers
from harness.sessions import MAJOR, call_tool, client_session, ping, text
from otel_mcp import testing
from otel_mcp.testing import Capture

pytestmark = pytest.mark.anyio

TRACED = Path(__file__).resolve().parents[1] / "servers" / "traced.py"


def clients(seen: Capture) -> list[str]:
    return [span.name for span in seen.spans if span.kind == "CLIENT"]


async def test_reading_a_resource_and_getting_a_prompt_are_calls(http: HttpServer) -> None:
    uri: Any = "demo://user:secret@host/note?token=1"
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            if MAJOR == 1:
                from pydantic import AnyUrl

                await session.read_resource(AnyUrl(uri))
            else:
                await session.read_resource(uri)
            await session.get_prompt("greet")
    assert [(call.method, call.tool, call.outcome, call.attempts) for call in seen.calls] == [
        ("resources/read", None, "ok", 1),
        ("prompts/get", "greet", "ok", 1),
    ]
    read, prompt = [span for span in seen.spans if span.name.startswith(("resources/read", "prompts/get"))]
    assert (read.name, read.attributes["mcp.resource.uri"]) == ("resources/read", "demo://host/note")
    assert (prompt.name, prompt.attributes["gen_ai.prompt.name"]) == ("prompts/get greet", "greet")
    assert "gen_ai.tool.name" not in prompt.attributes
    assert "gen_ai.operation.name" not in prompt.attributes
    (point,) = seen.metric("mcp.client.operation.duration", {"mcp.method.name": "prompts/get"})
    assert point.attributes["gen_ai.prompt.name"] == "greet"
    assert seen.total("otel_mcp.client.calls", {"otel_mcp.outcome": "ok"}) == 2


async def test_other_methods_are_attempts_and_no_calls(http: HttpServer) -> None:
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            await session.list_tools()
            await session.list_resources()
            await session.list_prompts()
            with contextlib.suppress(Exception):  # the server knows no completions
                await session.complete(
                    types.PromptReference(type="ref/prompt", name="greet"), {"name": "who", "value": "w"}
                )
    assert seen.calls == ()
    assert clients(seen) == ["initialize", "tools/list", "resources/list", "prompts/list", "completion/complete"]
    assert seen.total("otel_mcp.client.attempts") == 0, "attempts of calls"
    assert seen.metric("otel_mcp.client.tools")[0].value > 10
    error = {"mcp.method.name": "completion/complete", "error.type": "-32601", "rpc.response.status_code": "-32601"}
    assert seen.total("mcp.client.operation.duration", error) == 1


async def test_a_ping_is_a_probe_with_a_root_span(http: HttpServer) -> None:
    with testing.capture() as seen:
        async with client_session(http.target) as session:
            await ping(session)
    (span,) = [span for span in seen.spans if span.name == "ping"]
    assert (span.attributes["otel_mcp.keepalive.probe"], span.parent_id) == (True, None)
    (event,) = seen.events("keepalive")
    assert (event.fields["method"], event.fields["outcome"], event.fields["overlap"]) == ("ping", "ok", [])
    assert seen.total("otel_mcp.client.keepalive.duration", {"otel_mcp.keepalive.overlap": False}) == 1


def listing_nothing(server: Any) -> Any:
    @server.list_tools()
    async def list_tools() -> list[types.Tool]:
        return []

    return server


async def test_a_session_in_memory_is_named_after_its_server() -> None:
    with testing.capture() as seen:
        if MAJOR == 1:
            from mcp.server.lowlevel import Server
            from mcp.shared.memory import create_connected_server_and_client_session as connected

            async with connected(listing_nothing(Server("local weather"))) as session:
                await session.list_tools()
        else:
            from mcp.server import MCPServer

            async with mcp.Client(MCPServer("local weather")) as client:
                await client.list_tools()
    assert {event.connector for event in seen.events("connect")} == {"local weather"}
    assert list(seen.statistics().connectors) == ["local weather"]
    (span,) = [span for span in seen.spans if span.name == "tools/list"]
    assert span.attributes["otel_mcp.connector"] == "local weather"
    assert "network.transport" not in span.attributes


async def test_the_older_http_transport_is_watched_too(http: HttpServer) -> None:
    with testing.capture() as seen:
        async with client_session(http.sse) as session:
            await call_tool(session, "echo")
    (call,) = seen.calls
    assert (call.transport, call.outcome, call.sent) == ("sse", "ok", True)
    span = next(span for span in seen.spans if span.name.startswith("tools/call"))
    assert span.attributes["network.transport"] == "tcp"
    assert span.attributes["server.port"] == http.port


async def test_the_name_given_by_code_is_the_connectors(http: HttpServer) -> None:
    with testing.capture() as seen, otel_mcp.connector("shop"):
        async with client_session(http.target) as session:
            await call_tool(session, "echo")
    assert {event.connector for event in seen.events()} == {"shop"}


async def test_a_discovery_of_2_x_is_one_attempt_and_a_connect(http: HttpServer) -> None:
    if MAJOR == 1:
        assert not hasattr(ClientSession, "send_discover")
        return
    with testing.capture() as seen:
        async with mcp.Client(http.target) as client:
            await client.call_tool("echo", {"text": "modern"})
    assert clients(seen)[:2] == ["server/discover", "tools/call echo"]
    discover = next(span for span in seen.spans if span.name == "server/discover")
    assert discover.attributes["otel_mcp.limit.value"] == 10
    assert [event.fields["outcome"] for event in seen.events("connect")] == ["ok"]
    call = next(span for span in seen.spans if span.name == "tools/call echo")
    assert call.attributes["mcp.protocol.version"] == "2026-07-28"
    assert "mcp.session.id" not in call.attributes


async def test_spans_of_a_real_server_hang_below_the_attempts_span(tmp_path: Path) -> None:
    target = StdioServerParameters(command=sys.executable, args=[str(TRACED)], env=path_entry() or None)
    log = tmp_path / "spans"
    with testing.capture() as seen, log.open("w") as errlog:
        async with client_session(target, errlog=errlog) as session:
            assert text(await call_tool(session, "work")) == "done"
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith('{"name"')]
    span = next(span for span in seen.spans if span.name == "tools/call work")
    served = [line for line in lines if line["kind"] == "SERVER" and line["trace_id"] == span.trace_id]
    assert [line["parent_id"] for line in served] == [span.span_id], lines
    assert seen.calls[0].connector == "traced"


GLOBAL = """
import sys, anyio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import mcp
import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
import otel_mcp
otel_mcp.instrument(**({} if sys.argv[1] == "global" else {"tracer_provider": provider}))
SERVER = StdioServerParameters(command=sys.executable, args=["-m", "otel_mcp._demo.faulty"])

async def roots(context):
    return types.ListRootsResult(roots=[])

async def main():
    async with stdio_client(SERVER) as (read, write):
        async with ClientSession(read, write, list_roots_callback=roots) as session:
            await session.initialize()
            await session.list_tools()
            with trace.get_tracer("program").start_as_current_span("step"):
                await session.call_tool("echo", {"text": "x"})
                await session.call_tool("reject", {})
                try:
                    await session.call_tool("rpc_error", {})
                except Exception:
                    pass
                await session.call_tool("ask", {"method": "roots/list"})

anyio.run(main)
print(json.dumps([(s.name, s.kind.name, s.instrumentation_scope.name) for s in spans.get_finished_spans()]))
"""


@pytest.mark.parametrize("provider", ["global", "given"])
def test_a_request_has_exactly_one_client_span_in_the_programs_own_provider(provider: str) -> None:
    ran = run_script(GLOBAL, provider, env={"OTEL_METRICS_EXPORTER": "none"})
    assert ran.returncode == 0, ran.stderr
    found = [tuple(entry) for entry in json.loads(ran.stdout)]
    client = [(name, scope) for name, kind, scope in found if kind == "CLIENT"]
    assert client == [
        (name, "otel_mcp")
        for name in ("initialize", "tools/list", "tools/call echo", "tools/call reject", "tools/call rpc_error",
                     "tools/call ask")
    ]  # fmt: skip
    assert "Failed to detach" not in ran.stderr
    assert {name for name, _, scope in found if scope != "otel_mcp"} == {"step"}


async def test_spans_of_a_server_in_the_same_process_hang_below_the_attempts_span(module_servers: Servers) -> None:
    if MAJOR == 1:
        return  # 1.x makes no spans of its own
    script = """
import anyio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import mcp
from mcp.server import MCPServer
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
import otel_mcp
otel_mcp.instrument()
server = MCPServer("near")

@server.tool()
def work() -> str:
    return "done"

async def main():
    async with mcp.Client(server) as client:
        await client.call_tool("work", {})

anyio.run(main)
found = spans.get_finished_spans()
ours = {s.context.span_id: s.name for s in found if s.instrumentation_scope.name == "otel_mcp"}
served = [s for s in found if s.kind.name == "SERVER"]
print(json.dumps([(s.name, ours.get(s.parent.span_id) if s.parent else None) for s in served]))
"""
    ran = run_script(script, env={"OTEL_METRICS_EXPORTER": "none"})
    assert ran.returncode == 0, ran.stderr
    parents = dict(map(tuple, json.loads(ran.stdout)))
    served = next(name for name in parents if "tools/call" in name)
    assert parents[served] == "tools/call work", parents
