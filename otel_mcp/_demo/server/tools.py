"""The tools: one function each, a table at the end."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from otel_mcp._demo.server.channel import Channel, Message

if TYPE_CHECKING:
    from otel_mcp._demo.server.dialogue import Dialogue

INVALID_PARAMS = -32602
_FILE_POLL = 0.01


class RpcError(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ToolCall:
    """One ``tools/call``, with what a tool may use."""

    arguments: dict[str, Any]
    meta: dict[str, Any]
    channel: Channel
    dialogue: Dialogue

    def number(self, name: str, default: float) -> float:
        return float(self.arguments.get(name, default))


@dataclass(frozen=True)
class Tool:
    """A tool, its arguments (name to JSON type), and whether a cancelled call of it is still answered."""

    run: Callable[[ToolCall], Awaitable[Message]]
    description: str
    arguments: dict[str, str]
    deaf: bool = False
    output_schema: dict[str, Any] | None = None
    read_only: bool = True

    def listing(self, name: str) -> Message:
        properties = {argument: {"type": kind} for argument, kind in self.arguments.items()}
        listing: Message = {
            "name": name,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": properties},
            "annotations": {"readOnlyHint": self.read_only},
        }
        if self.output_schema is not None:
            listing["outputSchema"] = self.output_schema
        return listing


def text_result(text: str, *, error: bool = False) -> Message:
    return {"content": [{"type": "text", "text": text}], "isError": error}


async def echo(call: ToolCall) -> Message:
    return text_result(str(call.arguments.get("text", "")))


async def slow(call: ToolCall) -> Message:
    seconds = call.number("seconds", 1.0)
    await asyncio.sleep(seconds)
    return text_result(f"took {seconds:g} s")


async def hang(call: ToolCall) -> NoReturn:
    del call
    await asyncio.Event().wait()
    raise AssertionError("an event that nobody sets was set")


async def hold(call: ToolCall) -> Message:
    """Answers once the file named ``until`` exists: a test decides when."""
    until = Path(call.arguments["until"])
    while not until.exists():  # noqa: ASYNC110, ASYNC240 - another process makes the file; a look at it takes microseconds
        await asyncio.sleep(_FILE_POLL)
    return text_result("released")


async def reject(call: ToolCall) -> Message:
    return text_result(str(call.arguments.get("text", "date must be YYYY-MM-DD, got '31/12/2026'")), error=True)


async def rpc_error(call: ToolCall) -> NoReturn:
    raise RpcError(int(call.arguments.get("code", -32000)), str(call.arguments.get("message", "the peer says no")))


async def die(call: ToolCall) -> NoReturn:
    await asyncio.sleep(call.number("after", 0.0))
    call.dialogue.exit(int(call.arguments.get("code", 1)))


async def noise(call: ToolCall) -> Message:
    for number in range(int(call.arguments.get("lines", 1))):
        await call.channel.noise(f"DEBUG loading plugin {number}")
    return text_result("answered after the noise")


async def ask(call: ToolCall) -> Message:
    """Asks the client something while the call is open, and answers with what it was told."""
    method = str(call.arguments.get("method", "roots/list"))
    answer = await call.dialogue.ask(call.channel, method, _QUESTIONS.get(method))
    return text_result(json.dumps(answer.get("result", answer.get("error"))))


_QUESTIONS: dict[str, Message] = {
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say yes."}}],
        "maxTokens": 5,
    },
    "elicitation/create": {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}},
}


async def progress(call: ToolCall) -> Message:
    steps = int(call.arguments.get("steps", 3))
    token = call.meta.get("progressToken")
    for step in range(1, steps + 1):
        await asyncio.sleep(call.number("interval", 0.05))
        if token is not None:
            await _notify(call, "notifications/progress", {"progressToken": token, "progress": step, "total": steps})
    return text_result(f"{steps} steps")


async def notify_then_wait(call: ToolCall) -> Message:
    """Tells the client that the tools have changed, then takes its time."""
    await _notify(call, str(call.arguments.get("method", "notifications/tools/list_changed")), None)
    await asyncio.sleep(call.number("seconds", 1.0))
    return text_result("done")


async def stall(call: ToolCall) -> Message:
    """Reads nothing more from the client; this call itself is answered."""
    call.channel.stop_reading()
    return text_result("reading no more")


async def commit(call: ToolCall) -> Message:
    """Does something that must not be done twice."""
    call.dialogue.counts.commits += 1
    call.dialogue.counts.write()
    return text_result(f"commit {call.dialogue.counts.commits} in process {os.getpid()}")


async def meta(call: ToolCall) -> Message:
    """What stood in the request's ``_meta``."""
    return text_result(json.dumps(call.meta))


async def structured(call: ToolCall) -> Message:
    value = call.arguments.get("value", 1)
    return {**text_result(str(value)), "structuredContent": {"value": value}}


async def malformed(call: ToolCall) -> Message:
    """A result that is none."""
    del call
    return {"content": 17}


async def _notify(call: ToolCall, method: str, params: Message | None) -> None:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    await call.channel.send(message)


_VALUE_SCHEMA = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}

TOOLS: dict[str, Tool] = {
    "echo": Tool(echo, "Gives back its text.", {"text": "string"}),
    "slow": Tool(slow, "Answers after so many seconds, unless cancelled.", {"seconds": "number"}),
    "late": Tool(slow, "Answers after so many seconds, cancelled or not.", {"seconds": "number"}, deaf=True),
    "hang": Tool(hang, "Never answers.", {}),
    "hold": Tool(hold, "Answers once a file exists.", {"until": "string"}, deaf=True),
    "reject": Tool(reject, "Refuses its arguments.", {"text": "string"}),
    "rpc_error": Tool(rpc_error, "Answers with a JSON-RPC error.", {"code": "integer", "message": "string"}),
    "die": Tool(die, "Ends the process.", {"code": "integer", "after": "number"}, read_only=False),
    "noise": Tool(noise, "Writes text to stdout before it answers.", {"lines": "integer"}),
    "ask": Tool(ask, "Asks the client something.", {"method": "string"}),
    "progress": Tool(progress, "Reports progress.", {"steps": "integer", "interval": "number"}),
    "notify_then_wait": Tool(notify_then_wait, "Notifies, then waits.", {"seconds": "number", "method": "string"}),
    "stall": Tool(stall, "Stops reading what the client writes.", {}),
    "commit": Tool(commit, "Changes something.", {"key": "string"}, read_only=False),
    "meta": Tool(meta, "Gives back the request's _meta.", {}),
    "structured": Tool(structured, "Answers with structure.", {"value": "integer"}, output_schema=_VALUE_SCHEMA),
    "malformed": Tool(malformed, "Answers with a result that is none.", {}),
}
