"""langchain-mcp-adapters: a session for each call, with the configured server's name told along.

The chain of interceptors is the call: one that asks again makes a second attempt of it. A session that is opened for
one call and closed after it is neither a reconnect nor a connector that is down.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer

TARGET: Final = "langchain_mcp_adapters"
MODULES: Final = ("langchain_mcp_adapters.tools", "langchain_mcp_adapters.client")

_UNNAMED: Final = "unknown"
"""What the adapters write where a tool was loaded without a server's name."""

Handler = Callable[[Any], Awaitable[Any]]


class _Reported:
    """The calls of one chain of interceptors."""

    def __init__(self, send: Handler) -> None:
        self._send = send
        self._call: hooks.Call | None = None

    def around(self, chain: Handler) -> Handler:
        """The chain, reported as one call."""

        async def ask(request: Any) -> Any:
            server = getattr(request, "server_name", None)
            if not isinstance(server, str) or server == _UNNAMED:
                return await chain(request)
            with hooks.call(server, tool=request.name) as self._call:
                try:
                    return await chain(request)
                except Exception as error:
                    if _layer.not_sent(self._call, error):
                        self._call.reject(v.NOT_CONNECTED)
                    raise

        return ask

    async def send(self, request: Any) -> Any:
        """The innermost handler: connects, or uses the session it was given."""
        call = self._call
        if call is None:
            return await self._send(request)
        call.renamed(request.name)
        with call.phase("connect"), _layer.connecting(request.server_name):
            return await self._send(request)


def wrap_chain(original: Any, switch: Switch) -> Any:
    """For `tools._build_interceptor_chain(base_handler, …)`."""

    @functools.wraps(original)
    def _build_interceptor_chain(base_handler: Handler, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return original(base_handler, *args, **kwargs)
        reported = _Reported(base_handler)
        return reported.around(original(reported.send, *args, **kwargs))

    return _build_interceptor_chain


def wrap_loader(original: Any, switch: Switch) -> Any:
    """For `load_mcp_tools(session, server_name=…)` and its like, which open a session for the listing."""

    @functools.wraps(original)
    async def load(*args: Any, **kwargs: Any) -> Any:
        name = kwargs.get("server_name") if switch.on else None
        with _layer.connecting(name if isinstance(name, str) else None):
            return await original(*args, **kwargs)

    return load


def wrap_session(original: Any, switch: Switch) -> Any:
    """For `MultiServerMCPClient.session(server_name)`."""

    @functools.wraps(original)
    def session(self: Any, server_name: str, *args: Any, **kwargs: Any) -> Any:
        opening = original(self, server_name, *args, **kwargs)
        return _layer.Announced(opening, server_name) if switch.on else opening

    return session


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table; the client has the loaders by name, so each is there twice."""

    def loader(module: str, name: str) -> Patch:
        return Patch(
            TARGET, f"langchain_mcp_adapters.{module}", name, lambda o: wrap_loader(o, switch),
            optional=name != "load_mcp_tools",
        )  # fmt: skip

    return [
        Patch(
            TARGET, "langchain_mcp_adapters.tools", "_build_interceptor_chain", lambda o: wrap_chain(o, switch)
        ),
        loader("tools", "load_mcp_tools"),
        loader("client", "load_mcp_tools"),
        loader("client", "load_mcp_server_info"),
        Patch(
            TARGET, "langchain_mcp_adapters.client", "MultiServerMCPClient.session", lambda o: wrap_session(o, switch)
        ),
    ]  # fmt: skip
