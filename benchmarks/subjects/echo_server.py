"""The least that an MCP server over stdio can be: it answers every request at once. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "peer", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = ANSWERS.get(message["method"])
            end = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}), flush=True)


if __name__ == "__main__":
    main()
