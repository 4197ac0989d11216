"""Wrappers of a session's life that both SDK majors share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._ledger.model import now
from otel_mcp._observe import sessions
from otel_mcp._sdk import link

Untold = Callable[[Any], list[Any]]
"""From an SDK session that was left: ids of requests that nobody answered and nobody told."""


def wrap_enter(original: Any, switch: Switch) -> Any:
    """For `ClientSession.__aenter__`."""

    @functools.wraps(original)
    async def __aenter__(self: Any) -> Any:
        if switch.on:
            with guarded("sessions", "a session"):
                link.enter(self)
        try:
            return await original(self)
        except BaseException as error:
            if switch.on:
                with guarded("sessions", "the end of a session"):
                    sessions.closed(link.entry(self), [], error)
            raise

    return __aenter__


def wrap_exit(original: Any, switch: Switch, untold: Untold) -> Any:
    """For `ClientSession.__aexit__`: what is open afterwards and was not told is orphaned."""

    @functools.wraps(original)
    async def __aexit__(self: Any, *details: Any) -> Any:
        session = link.known(self)
        if session is None or not switch.on:
            return await original(self, *details)
        sessions.closing(session)
        try:
            return await original(self, *details)
        finally:
            with guarded("sessions", "the end of a session"):
                sessions.closed(session, untold(self), details[1] if len(details) > 1 else None)

    return __aexit__


def wrap_held(original: Any, switch: Switch, name_of: Callable[..., str | None]) -> Any:
    """For what handles a server's request or notification: named while it runs, since it may hold the receive loop."""

    @functools.wraps(original)
    async def handle(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = link.known(self) if switch.on else None
        name = None
        if session is not None:
            with guarded("sessions", "who holds the receive loop"):
                session.heard(now())
                name = name_of(*args)
        if session is None or name is None:
            return await original(self, *args, **kwargs)
        session.holds.append(name)
        try:
            return await original(self, *args, **kwargs)
        finally:
            session.holds.remove(name)

    return handle


def wrap_noise(original: Any, switch: Switch) -> Any:
    """For the method that gets what the transport could not parse: lines on stdout that are no protocol."""

    @functools.wraps(original)
    async def noise(self: Any, item: Any, *args: Any, **kwargs: Any) -> Any:
        if switch.on and isinstance(item, Exception):
            session = link.known(self)
            if session is not None and session.transport.kind == "stdio":
                session.transport.noise_lines += 1
        return await original(self, item, *args, **kwargs)

    return noise
