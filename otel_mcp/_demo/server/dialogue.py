"""What the server says to each message, apart from how the messages travel."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn, cast

from otel_mcp._demo.server.channel import Channel, Message
from otel_mcp._demo.server.counts import Counts
from otel_mcp._demo.server.faults import Fault, FaultPlan
from otel_mcp._demo.server.options import Options
from otel_mcp._demo.server.tools import INVALID_PARAMS, TOOLS, RpcError, Tool, ToolCall, echo

METHOD_NOT_FOUND = -32601
UNSUPPORTED_PROTOCOL_VERSION = -32022
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
_ANY_TOOL = Tool(echo, "Answers.", {"text": "string"})


class Dialogue:
    """The server's side of all conversations in this process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.counts = Counts(options.count_file)
        self._plan = FaultPlan(options.faults)
        self._turn = asyncio.Lock()
        self._questions: dict[str, asyncio.Future[Message]] = {}
        self._open: dict[tuple[object, str | int], asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def receive(self, message: Message, channel: Channel) -> asyncio.Task[None] | None:
        """Takes one message. For a request: the task that answers it, already running."""
        if "method" not in message:
            self._answered(message)
            return None
        if "id" not in message:
            await self._notified(message, channel)
            return None
        task = asyncio.create_task(self._serve(message, channel))
        # A set keeps a strong reference: two clients may use the same request id at once.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def ask(self, channel: Channel, method: str, params: Message | None) -> Message:
        """Sends the client a request and returns its whole answer."""
        self.counts.asked[method] += 1
        identifier = f"ask-{sum(self.counts.asked.values())}"
        future = self._questions[identifier] = asyncio.get_running_loop().create_future()
        request: Message = {"jsonrpc": "2.0", "id": identifier, "method": method}
        if params is not None:
            request["params"] = params
        await channel.send(request)
        answer: Message = await future
        return answer

    def exit(self, code: int) -> NoReturn:
        """Ends the process here and now, with the counters written."""
        self.counts.write()
        os._exit(code)

    def _answered(self, message: Message) -> None:
        future = self._questions.pop(str(message.get("id")), None)
        if future is not None and not future.done():
            future.set_result(message)

    async def _notified(self, message: Message, channel: Channel) -> None:
        method = message["method"]
        self.counts.notifications[method] += 1
        self.counts.write()
        if method == "notifications/cancelled":
            task = self._open.get((channel.conversation, (message.get("params") or {}).get("requestId", "")))
            if task is not None:
                task.cancel()
            return
        fault = self._plan.take(method)
        if fault is not None:
            await self._common_fault(fault, message, channel)

    async def _serve(self, request: Message, channel: Channel) -> None:
        method = request["method"]
        params: dict[str, Any] = request.get("params") or {}
        tool = str(params.get("name")) if method == "tools/call" else None
        self.counts.request(method, tool)
        fault = self._plan.take(method, tool)
        async with self._my_turn():
            if fault is not None and fault.do != "drop" and await self._common_fault(fault, request, channel):
                return
            await channel.begin()
            with self._cancellable(request, channel, tool):
                answer = await self._answer(method, params, channel)
                if fault is not None and fault.do == "drop":
                    self.counts.faults["drop"] += 1
                    self.counts.write()
                    await channel.misbehave(fault)
                    return
                self._count_answer(tool, answer)
                await channel.send({"jsonrpc": "2.0", "id": request["id"], **answer})

    @contextlib.asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        if not self.options.serial:
            yield
            return
        async with self._turn:
            yield

    @contextlib.contextmanager
    def _cancellable(self, request: Message, channel: Channel, tool: str | None) -> Iterator[None]:
        """Lets ``notifications/cancelled`` end the work silently, unless the tool is one that does not listen."""
        known = TOOLS.get(tool) if tool is not None else None
        if known is not None and known.deaf:
            yield
            return
        key = (channel.conversation, request["id"])
        self._open[key] = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            yield
        except asyncio.CancelledError:
            if tool is not None:
                self.counts.tool(tool, "cancelled")
        finally:
            self._open.pop(key, None)

    async def _common_fault(self, fault: Fault, message: Message, channel: Channel) -> bool:
        """True if the message is thereby dealt with."""
        self.counts.faults[fault.do] += 1
        self.counts.write()
        if fault.do == "exit":
            self.exit(int(fault.value or 0))
        if fault.do == "delay":
            await asyncio.sleep(fault.value or 0.0)
            return False
        if fault.do == "silent":
            await channel.begin()
            await asyncio.Event().wait()
        if fault.do == "error":
            error = {"code": int(fault.value or 0), "message": "fault on request"}
            await channel.begin()
            await channel.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return True
        return await channel.misbehave(fault)

    def _count_answer(self, tool: str | None, answer: Message) -> None:
        if tool is None:
            return
        result = answer.get("result")
        event = "error" if result is None else "tool_error" if result.get("isError") else "result"
        self.counts.tool(tool, event)

    async def _answer(self, method: str, params: dict[str, Any], channel: Channel) -> Message:
        try:
            result = await self._result(method, params, channel)
        except RpcError as error:
            return {"error": {"code": error.code, "message": str(error)}}
        except (KeyError, TypeError, ValueError) as problem:
            return {"error": {"code": INVALID_PARAMS, "message": f"bad arguments: {problem!r}"}}
        if self.options.modern:
            result = {"resultType": "complete", **result}
        return {"result": result}

    async def _result(self, method: str, params: dict[str, Any], channel: Channel) -> Message:
        if method == "initialize" and not self.options.modern_only:
            return self._initialize(params)
        if method == "server/discover" and self.options.modern:
            return self._discover()
        if method == "tools/call":
            return await self._call(params, channel)
        simple = self._simple(method, params)
        if simple is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return simple

    def _initialize(self, params: dict[str, Any]) -> Message:
        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": _CAPABILITIES,
            "serverInfo": {"name": self.options.name, "version": "1.0"},
        }

    def _discover(self) -> Message:
        identity = {"io.modelcontextprotocol/serverInfo": {"name": self.options.name, "version": "1.0"}}
        return {
            "supportedVersions": [MODERN_VERSION],
            "capabilities": _CAPABILITIES,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": identity,
        }

    async def _call(self, params: dict[str, Any], channel: Channel) -> Message:
        name = str(params.get("name"))
        tool = TOOLS.get(name) or (_ANY_TOOL if self.options.any_tool or name.startswith("extra_") else None)
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        return await tool.run(ToolCall(params.get("arguments") or {}, params.get("_meta") or {}, channel, self))

    def _simple(self, method: str, params: dict[str, Any]) -> Message | None:
        """Answers that need nothing but the request."""
        if method in ("ping", "logging/setLevel"):
            return {}
        if method == "tools/list":
            extra = {f"extra_{number:03}": _ANY_TOOL for number in range(self.options.extra_tools)}
            return {"tools": [tool.listing(name) for name, tool in {**TOOLS, **extra}.items()], **self._caching()}
        if method == "resources/list":
            return {"resources": [{"uri": "demo://note", "name": "note"}], **self._caching()}
        if method == "resources/read":
            return {"contents": [{"uri": params.get("uri"), "text": "A note."}], **self._caching()}
        if method == "prompts/list":
            return {"prompts": [{"name": "greet"}], **self._caching()}
        if method == "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello."}}]}
        return None

    def _caching(self) -> Message:
        return {"ttlMs": 0, "cacheScope": "private"} if self.options.modern else {}


_CAPABILITIES: Message = {
    "tools": {"listChanged": True},
    "resources": {},
    "prompts": {},
    "logging": {},
}
