"""The rooms behind `otel_mcp.hooks`, one a subject."""
