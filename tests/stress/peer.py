"""A server that misbehaves by the name of what is asked of it.

It is a stand-in over the SDK's memory streams, not a process: thousands of calls with real servers take minutes, and
what is counted here is what our side keeps.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp.types as types
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from harness.sessions import MAJOR

A_MOMENT = 0.005
"""Seconds that a slow answer takes."""
TOO_LONG = 0.1
"""Seconds that a late one takes: more than every limit in a plan."""

_NO_TOOLS: dict[str, Any] = {"tools": []}
_RESULTS: dict[str, dict[str, Any]] = {
    "tools/call": {"content": [], "isError": False},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "tools/list": _NO_TOOLS,
    "ping": {},
}


@asynccontextmanager
async def connected(handshake: str, name: str) -> AsyncIterator[tuple[Any, Any]]:
    """The client's two streams; at the other end a peer of that server name."""
    async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as tasks:
        tasks.start_soon(_Peer(handshake, name, write, tasks).serve, read)
        try:
            yield client
        finally:
            tasks.cancel_scope.cancel()


class _Peer:
    def __init__(self, handshake: str, name: str, write: Any, tasks: Any) -> None:
        self._handshake = handshake
        self._name = name
        self._write = write
        self._tasks = tasks
        self._questions = itertools.count(1)

    async def serve(self, read: Any) -> None:
        with contextlib.suppress(anyio.ClosedResourceError):  # this end was closed by `gone`
            async for item in read:
                message = getattr(item.message, "root", item.message)
                if getattr(message, "id", None) is not None and hasattr(message, "method"):
                    # Each request in a task of its own: the peer answers in any order.
                    self._tasks.start_soon(self._quietly, message, read)

    async def _quietly(self, message: Any, read: Any) -> None:
        # The client has left, or this end was closed by `gone`.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._answer(message.id, message.method, message.params or {}, read)

    async def _answer(self, key: Any, method: str, params: dict[str, Any], read: Any) -> None:
        if method in ("initialize", "server/discover"):
            await self._shake_hands(key, params)
            return
        wish = str(params.get("name") or params.get("uri", "")).rpartition("/")[2]
        result = _RESULTS.get(method, {})
        if wish == "silent":
            return
        if wish == "gone":
            await self._write.aclose()
            await read.aclose()
            return
        if wish == "notify":
            await self._say({"method": "notifications/tools/list_changed"})
        if wish == "question":
            await self._say({"id": f"q{next(self._questions)}", "method": "ping"})
        if wish in ("slow", "late"):
            await anyio.sleep(A_MOMENT if wish == "slow" else TOO_LONG)
        if wish == "error":
            await self._say({"id": key, "error": {"code": -32000, "message": "no"}})
            return
        if wish == "invalid":
            result = {"content": 7, "contents": 7, "messages": 7}
        if wish == "tool_error" and method == "tools/call":
            result = {"content": [], "isError": True}
        for _ in range(2 if wish == "twice" else 1):
            await self._say({"id": key, "result": result})

    async def _shake_hands(self, key: Any, params: dict[str, Any]) -> None:
        if self._handshake == "error":
            await self._say({"id": key, "error": {"code": -32600, "message": "not today"}})
        elif self._handshake == "ok":
            server = {"name": self._name, "version": "1"}
            version = params.get("protocolVersion", "2025-06-18")
            await self._say(
                {"id": key, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
            )

    async def _say(self, fields: dict[str, Any]) -> None:
        await self._write.send(SessionMessage(_message({"jsonrpc": "2.0", **fields})))


def _message(fields: dict[str, Any]) -> Any:
    if MAJOR == 1:
        return types.JSONRPCMessage.model_validate(fields)
    from mcp.types import jsonrpc_message_adapter

    return jsonrpc_message_adapter.validate_python(fields)
