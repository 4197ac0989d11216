"""A fake server inside this process, for virtual time: a real server has no virtual clock.

It speaks JSON-RPC through the SDK's own stream types, answers each request in a task of its own (``parallel``) or one
after the other, and keeps what arrived. Tools: ``echo``, ``sleep`` (``seconds``), ``hang``, ``refuse``, ``drop``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.shared.message import SessionMessage

try:
    from mcp_types import jsonrpc_message_adapter
except ImportError:
    from mcp.types import JSONRPCMessage

    _parse = JSONRPCMessage.model_validate
else:
    _parse = jsonrpc_message_adapter.validate_python


@dataclass
class Arrival:
    """One request as the server saw it."""

    time: float
    connection: int
    method: str
    params: dict[str, Any]
    answered: bool = False


TOOLS = ("echo", "sleep", "hang", "refuse", "drop", "write")


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


@dataclass
class Scripted:
    parallel: bool = True
    ping: str = "ok"
    handshake: str = "ok"
    reachable: bool = True
    tools: list[dict[str, Any]] = field(default_factory=lambda: [_tool(name) for name in TOOLS])
    arrivals: list[Arrival] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    on_arrival: Callable[[Arrival], None] = lambda arrival: None
    send_wrapper: Callable[[Any], Any] = lambda stream: stream

    def seen(self, method: str) -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.method == method]

    def __call__(self) -> Any:
        return self._transport()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        if not self.reachable:
            raise ConnectionRefusedError("nobody listens")
        self.connections += 1
        self.open_now += 1
        to_client, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_client = anyio.create_memory_object_stream[Any](0)
        try:
            async with anyio.create_task_group() as group, to_client, from_server, to_server, from_client:
                group.start_soon(self._serve, self.connections, from_client, to_client, group)
                yield from_server, self.send_wrapper(to_server)
                group.cancel_scope.cancel()
        finally:
            self.open_now -= 1

    async def _serve(self, connection: int, incoming: Any, outgoing: Any, group: Any) -> None:
        async for item in incoming:
            message = _as_dict(item)
            if "id" not in message:
                continue
            arrival = Arrival(anyio.current_time(), connection, message["method"], message.get("params") or {})
            self.on_arrival(arrival)
            self.arrivals.append(arrival)
            if self.parallel:
                group.start_soon(self._answer, message, arrival, outgoing)
            else:
                await self._answer(message, arrival, outgoing)

    async def _answer(self, message: dict[str, Any], arrival: Arrival, outgoing: Any) -> None:
        body = await self._body(message["method"], arrival.params, outgoing)
        if body is None:
            return
        arrival.answered = True
        try:
            await outgoing.send(_as_item({"jsonrpc": "2.0", "id": message["id"], **body}))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def _body(self, method: str, params: dict[str, Any], outgoing: Any) -> dict[str, Any] | None:
        if method == "initialize":
            return None if self.handshake == "hang" else {"result": _hello(params)}
        if method == "ping":
            return None if self.ping == "hang" else {"result": {}}
        if method == "tools/list":
            return {"result": {"tools": self.tools}}
        if method != "tools/call":
            return {"error": {"code": -32601, "message": f"no {method} here"}}
        tool, arguments = params["name"], params.get("arguments") or {}
        if tool == "hang":
            return None
        if tool == "drop":
            await outgoing.aclose()
            return None
        if tool == "sleep":
            await anyio.sleep(arguments["seconds"])
        return {"result": {"content": [{"type": "text", "text": tool}], "isError": tool == "refuse"}}


def _hello(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }


def _as_dict(item: Any) -> dict[str, Any]:
    message = getattr(item.message, "root", item.message)
    dumped: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def _as_item(message: dict[str, Any]) -> SessionMessage:
    return SessionMessage(_parse(message))
