"""The OpenAI Agents SDK (openai-agents, module `agents.mcp`), on mcp 1.x and 2.x.

Told above the SDK: the server's configured name, one call around its retries and their back-off, the lock that
serialises requests over streamable HTTP, the isolated session of a retry, and reconnects that the manager asks for.
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

TARGET: Final = "openai_agents"
MODULES: Final = ("agents.mcp.server", "agents.mcp.manager")

_MADE_UP: Final = ("stdio: ", "sse: ", "streamable_http: ")
"""How a name begins that the host made of a command or of a URL, which may hold secrets."""
_REASON: Final = "_otel_mcp_reason"
_SERVER: Final = "_MCPServerWithClientSession"


def connector_name(server: Any) -> str | None:
    """The configured name; None where the host made one up."""
    name = getattr(server, "name", None)
    return None if not isinstance(name, str) or name.startswith(_MADE_UP) else name


def _connector(server: Any) -> str | None:
    return _layer.connector_of(getattr(server, "session", None)) or connector_name(server)


def _read(server: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
    connector = _connector(server)
    return Asked(connector, argument(args, kwargs, 0, "tool_name")) if connector is not None else None


def judge(call: hooks.Call, server: Any, error: BaseException | None) -> None:
    """A server that was not connected refuses the call."""
    if isinstance(error, Exception) and call.attempts == 0 and getattr(server, "session", None) is None:
        call.reject(v.NOT_CONNECTED)


def wrap_connect(original: Any, switch: Switch) -> Any:
    """For `connect`: a reason where the manager has asked for it."""

    @functools.wraps(original)
    async def connect(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        with _layer.connecting(connector_name(self), vars(self).pop(_REASON, None)):
            return await original(self, *args, **kwargs)

    return connect


def wrap_session_context(original: Any, switch: Switch) -> Any:
    """For `_client_session_context`: the server's own session on 2.x, and the isolated one of a retry."""

    @functools.wraps(original)
    def _client_session_context(self: Any, *args: Any, **kwargs: Any) -> Any:
        opening = original(self, *args, **kwargs)
        return _layer.Announced(opening, connector_name(self)) if switch.on else opening

    return _client_session_context


def wrap_serialize(original: Any, switch: Switch) -> Any:
    """For `_maybe_serialize_request`: its lock is given away wrapped, once it is known whose it is."""

    @functools.wraps(original)
    async def _maybe_serialize_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        if switch.on:
            with guarded("hosts", "the waits for a lock"):
                lock = getattr(self, "_request_lock", None)
                connector = _connector(self)
                if lock is not None and connector is not None and not isinstance(lock, hooks.Lock):
                    self._request_lock = hooks.Lock(connector, "request", lock)
        return await original(self, *args, **kwargs)

    return _maybe_serialize_request


def wrap_backoff(original: Any, switch: Switch) -> Any:
    """For `_retry_backoff_seconds`, which is asked right before each sleep between attempts."""

    @functools.wraps(original)
    def _retry_backoff_seconds(self: Any, *args: Any, **kwargs: Any) -> Any:
        seconds = original(self, *args, **kwargs)
        if switch.on:
            with guarded("hosts", "the back-off of a call"):
                _layer.backs_off()
        return seconds

    return _retry_backoff_seconds


def wrap_reconnect(original: Any, switch: Switch) -> Any:
    """For `MCPServerManager.reconnect`: its servers connect in tasks of their own, so each is told why."""

    @functools.wraps(original)
    async def reconnect(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        servers = list(self.all_servers)
        for server in servers:
            vars(server)[_REASON] = "requested"
        try:
            return await original(self, *args, **kwargs)
        finally:
            for server in servers:
                vars(server).pop(_REASON, None)

    return reconnect


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table. The HTTP server has a `call_tool` of its own."""

    def server(path: str, wrap: Any, *, optional: bool = False) -> Patch:
        return Patch(TARGET, "agents.mcp.server", path, wrap, optional=optional)

    def call(original: Any) -> Any:
        return _layer.wrap_call(original, _read, switch, judge)

    return [
        server(f"{_SERVER}.call_tool", call),
        server("MCPServerStreamableHttp.call_tool", call),
        server(f"{_SERVER}.connect", lambda original: wrap_connect(original, switch)),
        server(
            f"{_SERVER}._client_session_context", lambda original: wrap_session_context(original, switch), optional=True
        ),
        server(f"{_SERVER}._maybe_serialize_request", lambda original: wrap_serialize(original, switch)),
        server(f"{_SERVER}._retry_backoff_seconds", lambda original: wrap_backoff(original, switch)),
        Patch(TARGET, "agents.mcp.manager", "MCPServerManager.reconnect", lambda o: wrap_reconnect(o, switch)),
    ]
