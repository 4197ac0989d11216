"""A server's life in Hermes: one task that connects, waits, probes, reconnects, parks."""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._hosts._hermes_breakers import Breakers

LISTING: Final[ContextVar[str | None]] = ContextVar("otel_mcp_hermes_listing", default=None)
"""Method of the listing that is made in this context."""

_LOCKS: Final = {"_rpc_lock": "rpc", "_refresh_lock": "refresh"}


class Connections:
    """Why each server connects next, and what it is while it has no session.

    Server tasks have slots and no weak references, so everything here goes by the server's name.
    """

    def __init__(self, breakers: Breakers, switch: Switch) -> None:
        self._breakers = breakers
        self._switch = switch
        self._why: dict[str, str] = {}
        self._was_ready: set[str] = set()

    def because(self, server: str, reason: str, *, known: bool = True) -> None:
        """The next connect is made for this reason; not `known`: unless there is one already."""
        if known:
            self._why[server] = reason
        else:
            self._why.setdefault(server, reason)

    def wrap_init(self, original: Any) -> Any:
        """For `MCPServerTask.__init__`: the locks are replaced by ones that tell who waits for whom.

        Raises AttributeError where the constructor makes no such lock.
        """
        absent = [name for name in _LOCKS if name not in original.__code__.co_names]
        if absent:
            raise AttributeError(f"MCPServerTask makes no {' and no '.join(absent)}")

        @functools.wraps(original)
        def __init__(task: Any, *args: Any, **kwargs: Any) -> None:
            original(task, *args, **kwargs)
            if self._switch.on:
                with guarded("hermes", "a server's locks and breaker"):
                    self._register(task)

        return __init__

    def _register(self, task: Any) -> None:
        server = task.name
        self._why.pop(server, None)
        self._was_ready.discard(server)
        self._breakers.register(server)
        hooks.state(server, "connecting")
        for attribute, name in _LOCKS.items():
            setattr(task, attribute, hooks.Lock(server, name, getattr(task, attribute), method=LISTING.get))

    def wrap_life(self, original: Any) -> Any:
        """For `run`: when it returns, nobody tries to connect any more."""

        @functools.wraps(original)
        async def run(task: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await original(task, *args, **kwargs)
            finally:
                shutdown = getattr(task, "_shutdown_event", None)
                self._say(task, "closed" if shutdown is not None and shutdown.is_set() else "failed")

        return run

    def wrap_connection(self, original: Any) -> Any:
        """For `_run_stdio` and `_run_http`: one run is one connection."""

        @functools.wraps(original)
        async def run_connection(task: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._switch.on:
                return await original(task, *args, **kwargs)
            reason = self._reason(task.name)
            with hooks.connecting(task.name, reason, sure=reason != "transport"):
                try:
                    ended = await original(task, *args, **kwargs)
                except Exception:
                    self.because(task.name, "transport", known=False)
                    self._say(task, "reconnecting" if task.name in self._was_ready else "connecting")
                    raise
            self._say(task, "reconnecting" if ended == "reconnect" else "closed")
            return ended

        return run_connection

    def _reason(self, server: str) -> str | None:
        """Why this connect is made. Until a server was ready once it is the first, however often it is tried."""
        reason = self._why.pop(server, None)
        if server not in self._was_ready and reason != "revival":
            return None
        return reason or "requested"

    def wrap_ready(self, original: Any) -> Any:
        """For `_wait_for_lifecycle_event`, which a connection enters when it is ready."""

        @functools.wraps(original)
        async def _wait_for_lifecycle_event(task: Any, *args: Any, **kwargs: Any) -> Any:
            if self._switch.on:
                self._was_ready.add(task.name)
                # Asked for while a connect was under way: this one has not been asked for by anybody.
                self._why.pop(task.name, None)
            return await original(task, *args, **kwargs)

        return _wait_for_lifecycle_event

    def wrap_parked(self, original: Any) -> Any:
        """For `_wait_for_reconnect_or_shutdown`: given up, until it is asked or a long interval is over."""

        @functools.wraps(original)
        async def _wait_for_reconnect_or_shutdown(task: Any, *args: Any, **kwargs: Any) -> Any:
            self._say(task, "parked")
            ended = await original(task, *args, **kwargs)
            if self._switch.on and ended == "reconnect":
                self.because(task.name, "revival")
                self._say(task, "reconnecting")
            return ended

        return _wait_for_reconnect_or_shutdown

    def wrap_keepalive(self, original: Any) -> Any:
        """For `_keepalive_probe`: a ping, and `tools/list` where the server knows no ping."""

        @functools.wraps(original)
        async def _keepalive_probe(task: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._switch.on:
                return await original(task, *args, **kwargs)
            with hooks.keepalive(task.name, n.TOOLS_LIST):
                try:
                    return await original(task, *args, **kwargs)
                except Exception:
                    self.because(task.name, "keepalive")
                    raise

        return _keepalive_probe

    def wrap_recycled(self, original: Any) -> Any:
        """For `_mark_stdio_recycled`: closed for its age, opened again by the next call."""

        @functools.wraps(original)
        def _mark_stdio_recycled(task: Any, *args: Any, **kwargs: Any) -> Any:
            self.because(task.name, "recycle")
            return original(task, *args, **kwargs)

        return _mark_stdio_recycled

    def wrap_signal(self, original: Any) -> Any:
        """For `_signal_reconnect(server)`: somebody asks for a new connection."""

        @functools.wraps(original)
        def _signal_reconnect(task: Any, *args: Any, **kwargs: Any) -> Any:
            with guarded("hermes", "why it reconnects"):
                name = getattr(task, "name", None)
                if isinstance(name, str):
                    self.because(name, "requested", known=False)
            return original(task, *args, **kwargs)

        return _signal_reconnect

    def wrap_deregister(self, original: Any) -> Any:
        """For `_deregister_tools`: the server offers nothing any more."""

        @functools.wraps(original)
        def _deregister_tools(task: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(task, *args, **kwargs)
            if self._switch.on:
                hooks.tools(task.name, 0)
            return result

        return _deregister_tools

    def wrap_listing(self, original: Any) -> Any:
        """For `_discover_tools` and `_refresh_tools`: who takes the lock, where it is no call."""

        @functools.wraps(original)
        async def listing(task: Any, *args: Any, **kwargs: Any) -> Any:
            token = LISTING.set(n.TOOLS_LIST)
            try:
                return await original(task, *args, **kwargs)
            finally:
                LISTING.reset(token)

        return listing

    def _say(self, task: Any, state: str) -> None:
        if self._switch.on:
            hooks.state(task.name, state)
