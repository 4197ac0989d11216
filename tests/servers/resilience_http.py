"""A small MCP server on loopback HTTP, without an SDK, that misbehaves on request. Prints its port first.

Tools: ``echo``, ``hang`` (never answers), ``reset`` (closes the socket without an answer), and ``status`` with
``{"code": 401}``. ``--forget-after N`` answers 404 to a session after N calls. ``GET /ledger`` returns what arrived.
"""

from __future__ import annotations

import argparse
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

seen: list[dict[str, Any]] = []
sessions: dict[str, int] = {}
hangs = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    forget_after = 0
    modern = False

    def log_message(self, *_: Any) -> None:
        pass

    def reply(self, status: int, body: Any = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path == "/ledger":
            self.reply(200, seen)
        else:
            self.reply(405)

    def do_DELETE(self) -> None:
        sessions.pop(self.headers.get("Mcp-Session-Id", ""), None)
        self.reply(200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        params = message.get("params") or {}
        session = self.headers.get("Mcp-Session-Id", "")
        seen.append({"method": message.get("method"), "tool": params.get("name"), "session": session})
        if "id" not in message:
            self.reply(202)
            return
        handle = getattr(self, "on_" + message["method"].replace("/", "_"), None)
        if handle is None:
            self.answer(message, error={"code": -32601, "message": f"no {message['method']} here"})
        else:
            handle(message, params, session)

    def answer(self, message: dict[str, Any], **what: Any) -> None:
        headers = what.pop("headers", {})
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], **what}, **headers)

    def on_initialize(self, message: dict[str, Any], params: dict[str, Any], session: str) -> None:
        if self.modern:
            data = {"supported": ["2026-07-28"], "requested": params["protocolVersion"]}
            self.answer(message, error={"code": -32022, "message": "only newer revisions", "data": data})
            return
        session = uuid.uuid4().hex
        sessions[session] = 0
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "resilience", "version": "1"},
        }
        self.answer(message, result=result, headers={"Mcp_Session_Id": session})

    def on_server_discover(self, message: dict[str, Any], params: dict[str, Any], session: str) -> None:
        result = {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }
        if self.modern:
            self.answer(message, result=result)
        else:
            self.answer(message, error={"code": -32601, "message": "no server/discover here"})

    def on_tools_list(self, message: dict[str, Any], params: dict[str, Any], session: str) -> None:
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "hang", "reset", "status")]
        cache = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"} if self.modern else {}
        self.answer(message, result={"tools": tools, **cache})

    def on_tools_call(self, message: dict[str, Any], params: dict[str, Any], session: str) -> None:
        tool, arguments = params["name"], params.get("arguments") or {}
        if session:
            sessions[session] = sessions.get(session, 0) + 1
            if self.forget_after and sessions[session] > self.forget_after:
                self.reply(404)
                return
        if tool == "hang":
            hangs.wait()
        elif tool == "reset":
            self.close_connection = True
            self.connection.close()
        elif tool == "status":
            self.reply(arguments["code"])
        else:
            done: dict[str, Any] = {"resultType": "complete"} if self.modern else {}
            self.answer(message, result={"content": [{"type": "text", "text": "done"}], "isError": False, **done})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that went away is nothing to print about."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forget-after", type=int, default=0)
    parser.add_argument("--modern", action="store_true", help="speak only the revision of 2026-07-28")
    options = parser.parse_args()
    Handler.forget_after = options.forget_after
    Handler.modern = options.modern
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
