"""``unchanged/program.py`` with another instrumentor in the same process, set up in code.

    python beside.py CONFIG.json WHAT_WAS_SEEN.json PEER alone|before|after

``before`` loads the other before us, ``after`` after us. All spans go to one provider, which the file tells of.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).parents[1] / "unchanged"))
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
datadog: list[Any] = []


def openinference() -> None:
    from openinference.instrumentation.mcp import MCPInstrumentor

    MCPInstrumentor().instrument(tracer_provider=provider)


def logfire() -> None:
    import logfire

    logfire.configure(
        send_to_logfire=False,
        console=False,
        additional_span_processors=[SimpleSpanProcessor(spans)],
        inspect_arguments=False,
    )
    logfire.instrument_mcp()


def traceloop() -> None:
    from opentelemetry.instrumentation.mcp import McpInstrumentor

    McpInstrumentor().instrument(tracer_provider=provider)


def openlit() -> None:
    import openlit
    from openlit._instrumentors import MODULE_NAME_MAP

    others = [name for name in MODULE_NAME_MAP if name != "mcp"]
    openlit.init(disabled_instrumentors=others, disable_metrics=True, disable_events=True, pricing_json=os.devnull)


def ddtrace() -> None:
    from ddtrace import patch
    from ddtrace.trace import TraceFilter, tracer

    class Kept(TraceFilter):  # type: ignore[misc]
        def process_trace(self, trace: list[Any]) -> None:
            datadog.extend(trace)

    tracer.configure(trace_processors=[Kept()])
    patch(mcp=True)


def us() -> None:
    import otel_mcp

    otel_mcp.instrument(tracer_provider=provider)


PEERS = {each.__name__: each for each in (openinference, logfire, traceloop, openlit, ddtrace)}


def main() -> None:
    config, seen, name, order = sys.argv[1:]
    if name != "logfire":  # it sets global providers of its own
        trace.set_tracer_provider(provider)
        set_logger_provider(LoggerProvider())  # OpenLIT would set one that prints
    peer = PEERS[name]
    for load in {"alone": [peer], "before": [peer, us], "after": [us, peer]}[order]:
        load()
    import program

    settings = json.loads(Path(config).read_text())
    asyncio.run(_what_it_survives(program, settings) if name == "traceloop" else program.main(settings))
    told = [
        {
            "name": span.name,
            "scope": span.instrumentation_scope.name if span.instrumentation_scope else None,
            "method": (span.attributes or {}).get("mcp.method.name"),
            "outcome": (span.attributes or {}).get("otel_mcp.outcome"),
        }
        for span in spans.get_finished_spans()
    ]
    told += [{"name": span.name, "scope": "ddtrace", "method": None, "outcome": None} for span in datadog]
    Path(seen).write_text(json.dumps(told))


async def _what_it_survives(program: Any, settings: dict[str, Any]) -> None:
    """Traceloop swallows the end of a connection: the next call on the dead session then waits for ever, without us."""
    for way in (program.in_stdio, program.in_http):
        await way(settings, program.ordinary)


main()
