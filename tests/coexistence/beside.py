"""``unchanged/program.py`` with another instrumentor in the same process, set up in code.

    python beside.py CONFIG.json WHAT_WAS_SEEN.json PEER alone|before|after

``before`` loads the other before us, ``after`` after us. All spans go to one provider, which the file tells of.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).parents[1] / "unchanged"))
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))


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


def us() -> None:
    import otel_mcp

    otel_mcp.instrument(tracer_provider=provider)


PEERS = {"openinference": openinference, "logfire": logfire}


def main() -> None:
    config, seen, name, order = sys.argv[1:]
    if name != "logfire":  # it sets a global provider of its own
        trace.set_tracer_provider(provider)
    peer = PEERS[name]
    for load in {"alone": [peer], "before": [peer, us], "after": [us, peer]}[order]:
        load()
    import program

    asyncio.run(program.main(json.loads(Path(config).read_text())))
    told = [
        {
            "name": span.name,
            "scope": span.instrumentation_scope.name if span.instrumentation_scope else None,
            "method": (span.attributes or {}).get("mcp.method.name"),
            "outcome": (span.attributes or {}).get("otel_mcp.outcome"),
        }
        for span in spans.get_finished_spans()
    ]
    Path(seen).write_text(json.dumps(told))


main()
