"""Hermes Agent (`hermes-agent`, tried with 0.19.0): calls, lock, breaker, keepalives, reconnects.

All of its MCP client is one module, `tools.mcp_tool`, whose functions look each other up at call time. What is patched
here is private to Hermes: each row is probed, and what has gone stands as `missing` in `otel_mcp.hooks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts._hermes_breakers import Breakers
from otel_mcp._hosts._hermes_calls import Calls
from otel_mcp._hosts._hermes_connections import Connections

TARGET: Final = "hermes"
MODULES: Final = ("tools.mcp_tool",)

_MODULE: Final = MODULES[0]
_SIGNS: Final = ("MCPServerTask", "_make_tool_handler", "_run_on_mcp_loop")
"""`tools.mcp_tool` is a name that anybody may give a module: one with none of these is not Hermes."""


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table; none where the module is somebody else's."""
    module = sys.modules.get(_MODULE)
    if module is None or not any(hasattr(module, sign) for sign in _SIGNS):
        return []
    breakers = Breakers(module)
    connections = Connections(breakers, switch)
    calls = Calls(breakers, connections, switch)
    return [*_calls(calls), *_breakers(breakers, calls, switch), *_connections(connections, module)]


def _row(path: str, wrap: Callable[[Any], Any]) -> Patch:
    return Patch(TARGET, _MODULE, path, wrap)


def _calls(calls: Calls) -> list[Patch]:
    return [
        _row("_make_tool_handler", calls.wrap_tool_factory),
        _row("_make_read_resource_handler", lambda original: calls.wrap_factory(original, n.RESOURCES_READ, "uri")),
        _row("_make_get_prompt_handler", lambda original: calls.wrap_factory(original, n.PROMPTS_GET, "name")),
        _row("_make_list_resources_handler", lambda original: calls.wrap_list_factory(original, "resources/list")),
        _row("_make_list_prompts_handler", lambda original: calls.wrap_list_factory(original, "prompts/list")),
        _row("_run_on_mcp_loop", calls.wrap_run),
        _row("_handle_auth_error_and_retry", lambda original: calls.wrap_recovery(original, "auth")),
        _row("_handle_session_expired_and_retry", lambda original: calls.wrap_recovery(original, "session_expired")),
        _row("_signal_reconnect_and_wait", calls.wrap_reconnect_and_wait),
        _row("_wait_for_server_session_ready", calls.wrap_connect_phase),
        _row("_request_lazy_reconnect", calls.wrap_connect_phase),
    ]


def _breakers(breakers: Breakers, calls: Calls, switch: Switch) -> list[Patch]:
    return [
        _row("_bump_server_error", lambda original: breakers.wrap_strike(original, calls.strike_cause, switch)),
        _row("_reset_server_error", lambda original: breakers.wrap_reset(original, switch)),
        # Read, never replaced: the rows are here so that their going missing is seen.
        *(_row(path, lambda original: original) for path in Breakers.READS),
    ]


def _connections(connections: Connections, module: ModuleType) -> list[Patch]:
    def row(path: str, wrap: Callable[[Any], Any]) -> Patch:
        return _row(f"MCPServerTask.{path}", wrap)

    return [
        row("__init__", connections.wrap_init),
        row("run", connections.wrap_life),
        row("_run_stdio", connections.wrap_connection),
        row("_run_http", connections.wrap_connection),
        row("_wait_for_lifecycle_event", connections.wrap_ready),
        row("_wait_for_reconnect_or_shutdown", connections.wrap_parked),
        row("_keepalive_probe", connections.wrap_keepalive),
        row("_mark_stdio_recycled", connections.wrap_recycled),
        row("_deregister_tools", connections.wrap_deregister),
        row("_discover_tools", connections.wrap_listing),
        row("_refresh_tools", connections.wrap_listing),
        _row("_signal_reconnect", connections.wrap_signal),
    ]
