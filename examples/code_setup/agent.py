"""An agent that sets up OpenTelemetry itself and hands its providers over: `python agent.py`."""

from __future__ import annotations

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

import otel_mcp

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "otel_mcp._demo.faulty"])


def set_up() -> TracerProvider:
    """Put your own exporter in the place of the console's."""
    provider = TracerProvider(resource=Resource.create({"service.name": "code-setup"}))
    exporter = ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: f"span: {span.name}\n")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel_mcp.instrument(tracer_provider=provider)
    return provider


async def main() -> None:
    with otel_mcp.connector("notes"):  # the name under which its sessions are told
        async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await session.call_tool("echo", {"text": "hello"})
            await session.call_tool("reject", {})


provider = set_up()
try:
    asyncio.run(main())
    for name, connector in otel_mcp.statistics().connectors.items():
        print(name, {outcome: number for outcome, number in connector.calls.items() if number})
finally:
    otel_mcp.uninstrument()
    provider.shutdown()
