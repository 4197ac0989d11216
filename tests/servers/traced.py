"""A server made with the SDK under test, whose tracer provider writes each span to stderr as one JSON line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

try:
    from mcp.server import MCPServer as Server  # 2.x: the SDK makes a span of each request itself
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as Server


class ToStderr(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            context = span.get_span_context()
            parent = span.parent
            line = {
                "name": span.name,
                "kind": span.kind.name,
                "trace_id": format(context.trace_id, "032x"),
                "parent_id": format(parent.span_id, "016x") if parent else None,
            }
            print(json.dumps(line), file=sys.stderr, flush=True)
        return SpanExportResult.SUCCESS


provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(ToStderr()))
trace.set_tracer_provider(provider)
server = Server("traced")

if "Context" in globals():

    @server.tool()
    def work(ctx: Context) -> str:
        meta = ctx.request_context.meta
        carrier = dict(meta.model_extra or {}) if meta is not None else {}
        with trace.get_tracer("server").start_as_current_span("work", extract(carrier), trace.SpanKind.SERVER):
            return "done"
else:

    @server.tool()
    def work() -> str:
        return "done"


if __name__ == "__main__":
    server.run("stdio")
