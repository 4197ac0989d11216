"""An MCP server that misbehaves on request, written without the MCP SDK so that no SDK version changes its faults."""
