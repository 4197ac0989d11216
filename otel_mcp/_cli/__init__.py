"""The `otel-mcp` command."""
