"""LiteLLM's MCP client (`litellm.mcp_client`, mcp 2.x), which its gateway uses too.

A connection for each call, or a persistent session served by one task. In the gateway a server has a name; the client
alone knows only its target. The limit is LiteLLM's own scope around the rounds of a call.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument
from otel_mcp._observe import calls, scopes

TARGET: Final = "litellm"
MODULES: Final = ("litellm.mcp_client.client", "litellm.proxy.mcp_server.mcp_server_manager")

_CLIENT, _MANAGER = MODULES
_NAME: Final = "_otel_mcp_connector"
"""On a client that the gateway made: the name of its server."""


def connector_name(client: Any) -> str | None:
    """The gateway's name of the server, else one derived from the target as the SDK layer derives it."""
    given = vars(client).get(_NAME)
    if given:
        return str(given)
    stdio = client.stdio_config or {}
    return _layer.target_name(command=stdio.get("command"), args=stdio.get("args") or (), url=client.server_url or None)


def _read(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
    connector = connector_name(client)
    params = argument(args, kwargs, 0, "call_tool_request_params")
    return Asked(connector, params.name, limit=client.timeout) if connector is not None else None


def judge(call: hooks.Call, client: Any, error: BaseException | None) -> None:
    """Where no session was reached, LiteLLM answers with an error result of its own."""
    if call.attempts == 0 and (error is None or isinstance(error, Exception)):
        call.reject(v.NOT_CONNECTED)


def wrap_call(original: Any, switch: Switch) -> Any:
    """For `MCPClient.call_tool`: until a session is asked, it connects."""
    return _layer.wrap_call(_layer.connects_first(original), _read, switch, judge)


def wrap_persistent_run(original: Any, switch: Switch) -> Any:
    """For `PersistentMCPSession.run`: the task that serves it has the context of whoever opened the session."""

    @functools.wraps(original)
    async def run(self: Any, operation: Any, *args: Any, **kwargs: Any) -> Any:
        call = calls.CURRENT.get() if switch.on else None
        if call is None:
            return await original(self, operation, *args, **kwargs)

        async def carried(session: Any) -> Any:
            token = calls.CURRENT.set(call)
            try:
                return await operation(session)
            finally:
                scopes.leave(calls.CURRENT, token)

        return await original(self, carried, *args, **kwargs)

    return run


def wrap_create(original: Any, switch: Switch) -> Any:
    """For `MCPServerManager.create_mcp_client(server, …)`: the client learns the server's name."""

    @functools.wraps(original)
    async def create_mcp_client(self: Any, server: Any, *args: Any, **kwargs: Any) -> Any:
        client = await original(self, server, *args, **kwargs)
        if switch.on:
            with guarded("hosts", "a connector's name"):
                setattr(client, _NAME, server.alias or server.server_name or server.name)
        return client

    return create_mcp_client


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""
    return [
        Patch(TARGET, _CLIENT, "MCPClient.call_tool", lambda original: wrap_call(original, switch)),
        Patch(
            TARGET, _CLIENT, "MCPClient.run_with_session",
            lambda original: _layer.wrap_connect(original, connector_name, switch),
        ),
        Patch(TARGET, _CLIENT, "PersistentMCPSession.run", lambda original: wrap_persistent_run(original, switch)),
        Patch(
            TARGET, _MANAGER, "MCPServerManager.create_mcp_client", lambda o: wrap_create(o, switch), optional=True
        ),
    ]  # fmt: skip
