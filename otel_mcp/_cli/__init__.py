"""The `otel-mcp` command, one module a subcommand; each is imported only when it is asked for."""
