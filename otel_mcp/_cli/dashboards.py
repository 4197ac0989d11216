"""`otel-mcp dashboards`: the built files are a room of their own."""

from otel_mcp._dashboards.command import add_arguments, run

__all__ = ["add_arguments", "run"]
