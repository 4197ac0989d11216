"""Google's Agent Development Kit (`google.adk.tools.mcp_tool`), on mcp 1.x and 2.x.

ADK has no names for its servers; the one thing that a user may set is a toolset's `tool_name_prefix`, which is taken.
Told above the SDK: the call with the connect in front of it, the lock under which sessions are made, and a call that
ADK cancels because the task of its session died.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer

TARGET: Final = "google_adk"
MODULES: Final = (
    "google.adk.tools.mcp_tool.mcp_session_manager", "google.adk.tools.mcp_tool.mcp_tool",
    "google.adk.tools.mcp_tool.mcp_toolset",
)  # fmt: skip

_MANAGER, _TOOL, _TOOLSET = MODULES
_PREFIX: Final = "_otel_mcp_prefix"
"""On a session manager: the prefix of the toolset that owns it."""


def connector_name(manager: Any) -> str | None:
    """The toolset's prefix, else a name derived from the target as the SDK layer derives it."""
    prefix = vars(manager).get(_PREFIX)
    if prefix:
        return str(prefix)
    params = manager._connection_params
    server = getattr(params, "server_params", None)
    return _layer.target_name(
        command=getattr(server, "command", None),
        args=getattr(server, "args", None) or (),
        url=getattr(params, "url", None),
    )


def wrap_toolset(original: Any, switch: Switch) -> Any:
    """For `McpToolset.__init__`: its session manager learns the prefix."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if switch.on:
            with guarded("hosts", "a connector's name"):
                setattr(self._mcp_session_manager, _PREFIX, kwargs.get("tool_name_prefix"))

    return __init__


def wrap_run(original: Any, switch: Switch) -> Any:
    """For `McpTool._run_async_impl`: session and call."""

    @functools.wraps(original)
    async def _run_async_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call(self) if switch.on else None
        if call is None:
            return await original(self, *args, **kwargs)
        with call, call.phase("connect"):
            try:
                return await original(self, *args, **kwargs)
            except Exception as error:
                _judge(call, error)
                raise

    return _run_async_impl


def _call(tool: Any) -> hooks.Call | None:
    with guarded("hosts", "one call of a host"):
        connector = connector_name(tool._mcp_session_manager)
        if connector is not None:
            return hooks.call(connector, tool=tool._mcp_tool.name)
    return None


def _judge(call: hooks.Call, error: Exception) -> None:
    if _layer.not_sent(call, error):
        call.reject(v.NOT_CONNECTED)
    elif call.last_outcome is Outcome.CANCELLED:
        call.end(Outcome.DISCONNECTED)  # the caller was not cancelled: ADK gave up a call whose session died


def wrap_lock(original: Any, switch: Switch) -> Any:
    """For the property `_session_lock`, one lock for each event loop."""

    def lock(self: Any) -> Any:
        found = original.fget(self)
        if switch.on and not isinstance(found, hooks.Lock):
            with guarded("hosts", "the waits for a lock"):
                name = connector_name(self)
                if name is not None:
                    found = hooks.Lock(name, "session", found)
                    self._session_lock_map[asyncio.get_running_loop()] = found
        return found

    return property(lock, doc=original.__doc__)


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""
    return [
        Patch(TARGET, _TOOLSET, "McpToolset.__init__", lambda original: wrap_toolset(original, switch)),
        Patch(TARGET, _TOOL, "McpTool._run_async_impl", lambda original: wrap_run(original, switch)),
        Patch(
            TARGET, _MANAGER, "MCPSessionManager.create_session",
            lambda original: _layer.wrap_connect(original, connector_name, switch),
        ),
        Patch(TARGET, _MANAGER, "MCPSessionManager._session_lock", lambda original: wrap_lock(original, switch)),
    ]  # fmt: skip
