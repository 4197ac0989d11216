"""Microsoft's agent-framework (`MCPStdioTool`, `MCPStreamableHTTPTool`, on mcp 2.x).

Told above the SDK: the tool's configured name, one call around the second try after a lost connection, the reconnect
between the two with its reason, and the lock that serialises calls which carry headers of their own.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument

TARGET: Final = "agent_framework"
MODULES: Final = ("agent_framework._mcp",)

_MODULE: Final = "agent_framework._mcp"
_REASON: Final = "_otel_mcp_reason"
"""On a tool, for the task that connects: why it was asked to."""
_LIVENESS: Final = "connection liveness check"
"""What the host calls its ping when it reports a loss."""


def _sdk_session(tool: Any) -> Any:
    connection = getattr(tool, "_connection", None)
    client = getattr(connection, "client", None)
    return getattr(client, "_session", None) or getattr(connection, "session", None)


def _connector(tool: Any) -> str:
    return _layer.connector_of(_sdk_session(tool)) or str(tool.name)


def _reads(method: str, argument_name: str) -> _layer.Reads:
    def read(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
        connector = _connector(tool)
        lock = getattr(tool, "_call_headers_lock", None)
        if lock is not None and not isinstance(lock, hooks.Lock):
            tool._call_headers_lock = hooks.Lock(connector, "call_headers", lock)
        return Asked(connector, argument(args, kwargs, 0, argument_name), method)

    return read


def judge(call: hooks.Call, tool: Any, error: BaseException | None) -> None:
    """A tool that was not connected refuses the call."""
    if isinstance(error, Exception) and call.attempts == 0 and not tool.is_connected:
        call.reject(v.NOT_CONNECTED)


def wrap_connect(original: Any, switch: Switch) -> Any:
    """For `connect(reset=…)`: the user asks for a new connection in place of one that is there."""

    @functools.wraps(original)
    async def connect(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on or not kwargs.get("reset") or not self.is_connected:
            return await original(self, *args, **kwargs)
        with _Because(self, "requested"):
            return await original(self, *args, **kwargs)

    return connect


def wrap_recover(original: Any, switch: Switch) -> Any:
    """For `_recover_connection_after_loss(operation=…)`: a ping without an answer, or a call that found nobody."""

    @functools.wraps(original)
    async def _recover_connection_after_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        with guarded("hosts", "the phase of a call"):
            _layer.reconnects()
        # None: the ledger knows whether the session had expired or was cut.
        with _Because(self, "keepalive" if kwargs.get("operation") == _LIVENESS else None):
            return await original(self, *args, **kwargs)

    return _recover_connection_after_loss


class _Because:
    """The connects of a tool inside this block have this reason; the outermost block says it."""

    def __init__(self, tool: Any, reason: str | None) -> None:
        self._said = vars(tool)
        self._reason = reason
        self._first = _REASON not in self._said

    def __enter__(self) -> None:
        if self._first:
            self._said[_REASON] = self._reason

    def __exit__(self, *details: object) -> None:
        if self._first:
            self._said.pop(_REASON, None)


def wrap_connect_on_owner(original: Any, switch: Switch) -> Any:
    """For `_connect_on_owner`, which runs in the task that owns the connection."""

    @functools.wraps(original)
    async def _connect_on_owner(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        with _layer.connecting(str(self.name), vars(self).get(_REASON)):
            return await original(self, *args, **kwargs)

    return _connect_on_owner


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table. The HTTP tool has a `call_tool` of its own, which waits for a lock."""

    def row(path: str, wrap: Any) -> Patch:
        return Patch(TARGET, _MODULE, path, wrap)

    def call(path: str, method: str, argument_name: str) -> Patch:
        read = _reads(method, argument_name)
        return row(path, lambda original: _layer.wrap_call(original, read, switch, judge))

    return [
        call("MCPTool.call_tool", n.TOOLS_CALL, "tool_name"),
        call("MCPStreamableHTTPTool.call_tool", n.TOOLS_CALL, "tool_name"),
        call("MCPTool.get_prompt", n.PROMPTS_GET, "prompt_name"),
        row("MCPTool.connect", lambda original: wrap_connect(original, switch)),
        row("MCPTool._recover_connection_after_loss", lambda original: wrap_recover(original, switch)),
        row("MCPTool._connect_on_owner", lambda original: wrap_connect_on_owner(original, switch)),
    ]
