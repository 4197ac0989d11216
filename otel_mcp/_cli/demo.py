"""`otel-mcp demo`: the demonstration is a room of its own."""

from otel_mcp._demo.command import add_arguments, run

__all__ = ["add_arguments", "run"]
