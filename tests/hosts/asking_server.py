"""An mcp 2.x server over stdio whose tool asks for input twice before it answers."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {}}
    return types.ListToolsResult(tools=[types.Tool(name="book", input_schema=schema)])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
    round_number = int(params.request_state or 0)
    if round_number < 2:
        return types.InputRequiredResult(request_state=str(round_number + 1))
    return types.CallToolResult(content=[types.TextContent(type="text", text="booked")])


async def serve() -> None:
    server: Any = Server("asking", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
