"""The three servers of the example: plain JSON-RPC on stdio, with a fault on request."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOLS = ["fetch", "search", "store", "send"]


def result_of(method: str, params: dict[str, Any], fault: str) -> dict[str, Any] | None:
    """The answer to one request; None for no answer at all."""
    if method == "initialize":
        hello = {"name": "example", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": hello}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        if fault == "die":
            os._exit(9)
        if fault == "hang":
            return None
        return {"content": [{"type": "text", "text": f"{params['name']} done"}], "isError": False}
    return {}


def main() -> None:
    fault = sys.argv[1] if len(sys.argv) > 1 else "none"
    if fault == "absent":
        raise SystemExit(127)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = result_of(message["method"], message.get("params") or {}, fault)
        if result is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
