"""agno's `MCPTools` (agno 3, on the fastmcp client): the toolkit's name, its pings, its session lock, its reconnects.

agno pings the server before every call; a toolkit with `refresh_connection` pings at each run and connects again when
nobody answers. These pings are keepalive probes, and the time of the one before a call is the call's phase `connect`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer

TARGET: Final = "agno"
MODULES: Final = ("agno.tools.mcp.mcp",)

_MODULE: Final = "agno.tools.mcp.mcp"
_UNNAMED: Final = "MCPTools"
_DEAD: Final = "_otel_mcp_not_alive"
"""On a toolkit: the last ping of `is_alive` was not answered."""


def connector_name(toolkit: Any) -> str | None:
    """The name that was given; None where agno made one of the URL or of the command line."""
    name = getattr(toolkit, "name", None)
    if not isinstance(name, str) or name == _UNNAMED:
        return None
    make_up = sys.modules["agno.utils.mcp"].get_default_toolkit_name
    made_up = make_up(url=toolkit.url, server_params=toolkit.server_params)
    return None if name == made_up else name


def _sdk_session(session: Any) -> Any:
    """The SDK's session below a fastmcp client, or the one that the user handed in."""
    state = getattr(session, "_session_state", None)
    return session if state is None else getattr(state, "session", None)


def wrap_factory(original: Any, switch: Switch) -> Any:
    """For `get_entrypoint_for_tool(tool, session, toolkit)`, which makes the function behind a tool."""

    @functools.wraps(original)
    def get_entrypoint_for_tool(tool: Any, session: Any, mcp_tools_instance: Any = None, **kwargs: Any) -> Any:
        entrypoint = original(tool, session, mcp_tools_instance, **kwargs)

        @functools.wraps(entrypoint)
        async def call_tool(*args: Any, **arguments: Any) -> Any:
            call = None
            if switch.on:
                with guarded("hosts", "one call of a host"):
                    call = _call(tool, session, mcp_tools_instance)
            if call is None:
                return await entrypoint(*args, **arguments)
            with call, call.phase("connect"), _layer.connecting(_guarded_name(mcp_tools_instance)):
                result = await entrypoint(*args, **arguments)
                if call.attempts == 0:  # agno makes every exception a text
                    call.reject(v.NOT_CONNECTED)
                return result

        return call_tool

    return get_entrypoint_for_tool


def _call(tool: Any, session: Any, toolkit: Any) -> hooks.Call | None:
    connector = _layer.connector_of(_sdk_session(session)) or (connector_name(toolkit) if toolkit is not None else None)
    return hooks.call(connector, tool=tool.name) if connector is not None else None


def _guarded_name(toolkit: Any) -> str | None:
    with guarded("hosts", "a connector's name"):
        return connector_name(toolkit) if toolkit is not None else None
    return None


def wrap_is_alive(original: Any, switch: Switch) -> Any:
    """For `is_alive`: a connect that follows a ping without an answer is a reconnect for that."""

    @functools.wraps(original)
    async def is_alive(self: Any, *args: Any, **kwargs: Any) -> Any:
        alive = await original(self, *args, **kwargs)
        if switch.on:
            vars(self)[_DEAD] = not alive and self.session is not None
        return alive

    return is_alive


def wrap_connect(original: Any, switch: Switch) -> Any:
    """For `connect(force=False)`."""

    @functools.wraps(original)
    async def connect(self: Any, force: bool = False) -> Any:
        if not switch.on:
            return await original(self, force)
        reason = None
        if force and self.session is not None:
            reason = "keepalive" if vars(self).pop(_DEAD, False) else "requested"
        with _layer.connecting(_guarded_name(self), reason):
            return await original(self, force)

    return connect


def wrap_lock(original: Any, switch: Switch) -> Any:
    """For the property `_session_creation_lock`: calls of one run wait here for the run's session."""

    def lock(self: Any) -> Any:
        found = original.fget(self)
        if switch.on and not isinstance(found, hooks.Lock):
            with guarded("hosts", "the waits for a lock"):
                name = connector_name(self)
                if name is not None:
                    found = self._session_lock = hooks.Lock(name, "session", found)
        return found

    return property(lock, doc=original.__doc__)


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""

    def row(path: str, wrap: Any) -> Patch:
        return Patch(TARGET, _MODULE, path, wrap)

    def connects(original: Any) -> Any:
        return _layer.wrap_connect(original, connector_name, switch)

    return [
        row("get_entrypoint_for_tool", lambda original: wrap_factory(original, switch)),
        row("MCPTools.connect", lambda original: wrap_connect(original, switch)),
        row("MCPTools._connect", connects),
        row("MCPTools.get_session_for_run", connects),
        row("MCPTools.is_alive", lambda original: wrap_is_alive(original, switch)),
        row("MCPTools._session_creation_lock", lambda original: wrap_lock(original, switch)),
    ]
