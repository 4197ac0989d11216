"""The MCP SDK's patch points, for mcp 1.x and 2.x."""

from otel_mcp._sdk.table import install, uninstall

__all__ = ["install", "uninstall"]
