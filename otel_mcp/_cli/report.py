"""`otel-mcp report`: the report is a room of its own."""

from otel_mcp._report.command import add_arguments, run

__all__ = ["add_arguments", "run"]
