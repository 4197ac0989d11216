"""A small MCP server on stdio, without an SDK, that misbehaves on request.

One request at a time unless ``--parallel``: while a tool works, nothing else is read, so a ping has to wait. Each
line of ``--ledger FILE`` is what arrived: ``{"pid": …, "method": …, "tool": …}``; the first of a process is ``start``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from typing import Any

TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "write", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
    {"name": "refuse", "inputSchema": {"type": "object"}},
    {"name": "sleep", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
]


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.calls = 0
        self.out = threading.Lock()

    def note(self, **what: Any) -> None:
        if self.options.ledger:
            line = json.dumps({"pid": os.getpid(), **what}) + "\n"
            handle = os.open(self.options.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(handle, line.encode())
            os.close(handle)

    def send(self, message: dict[str, Any]) -> None:
        with self.out:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def serve(self) -> None:
        self.note(method="start")
        for line in sys.stdin:
            message = json.loads(line)
            params = message.get("params") or {}
            meta = {key: value for key, value in (params.get("_meta") or {}).items() if key.startswith("otel-mcp/")}
            self.note(method=message.get("method"), tool=params.get("name"), meta=meta)
            if "id" not in message:
                if message.get("method") == "notifications/initialized" and self.options.exit_after_handshake:
                    os._exit(3)
                continue
            if self.options.parallel:
                threading.Thread(target=self.answer, args=(message, params), daemon=True).start()
            else:
                self.answer(message, params)

    def answer(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        method, wire_id = message["method"], message["id"]
        handler = getattr(self, "on_" + method.replace("/", "_"), None)
        if handler is None:
            self.send({"id": wire_id, "error": {"code": -32601, "message": f"no {method} here"}})
            return
        answer = handler(params)
        if answer is not None:
            self.send({"id": wire_id, **answer})

    def on_initialize(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if self.options.no_handshake:
            return None
        return {
            "result": {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "resilience", "version": "1"},
            }
        }

    def on_ping(self, params: dict[str, Any]) -> dict[str, Any] | None:
        answers = {
            "ok": {"result": {}},
            "error": {"error": {"code": -32603, "message": "not now"}},
            "unknown": {"error": {"code": -32601, "message": "no ping here"}},
            "never": None,
        }
        return answers[self.options.ping]

    def on_tools_list(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is None:
            return {"result": {"tools": TOOLS[:4], "nextCursor": "more"}}
        return {"result": {"tools": TOOLS[4:]}}

    def on_resources_read(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if "hang" in params["uri"]:
            return None
        return {"result": {"contents": [{"uri": params["uri"], "text": "rows"}]}}

    def on_prompts_get(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if params["name"] == "hang":
            return None
        return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}}

    def on_tools_call(self, params: dict[str, Any]) -> dict[str, Any] | None:
        tool, arguments = params["name"], params.get("arguments") or {}
        self.calls += 1
        if tool == "die":
            os._exit(7)
        if tool == "hang":
            return None
        if tool == "sleep":
            time.sleep(arguments["seconds"])
            self.note(method="done", tool=tool)
        if tool == "unknown":
            return {"error": {"code": -32602, "message": "no such tool: unknown"}}
        if tool == "busy":
            return {"error": {"code": -32050, "message": "come back later"}}
        text = "use search_count instead" if tool == "refuse" else "done"
        result = {"content": [{"type": "text", "text": text}], "isError": tool == "refuse"}
        if self.calls == self.options.drop_after:
            self.note(method="committed", tool=tool)
            os._exit(5)
        return {"result": result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ledger")
    parser.add_argument("--parallel", action="store_true", help="answer each request in a thread of its own")
    parser.add_argument("--ping", choices=["ok", "error", "unknown", "never"], default="ok")
    parser.add_argument("--drop-after", type=int, default=0, help="exit before answering the Nth call of a process")
    parser.add_argument("--exit-after-handshake", action="store_true")
    parser.add_argument("--no-handshake", action="store_true", help="never answer initialize")
    parser.add_argument("--start-delay", type=float, default=0.0)
    options = parser.parse_args()
    time.sleep(options.start_delay)
    Server(options).serve()


if __name__ == "__main__":
    main()
