"""What this layer tells `otel_mcp.hooks`; the only module here that knows it.

Everything goes through the module's `sink`, looked up at the moment of use, so that a test can put a recorder there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any, Protocol, cast

from otel_mcp import hooks
from otel_mcp._ground.names import CALL_METHODS
from otel_mcp._ground.outcomes import Outcome


class Call(Protocol):
    """One logical call; the SDK's requests inside are its attempts."""

    def phase(self, name: str) -> AbstractContextManager[Any]: ...
    def end(
        self,
        outcome: Outcome | str,
        *,
        error_type: str | None = None,
        cause: str | None = None,
        limit: float | None = None,
        limit_source: str | None = None,
    ) -> None: ...
    def reject(self, error_type: str) -> None: ...
    def breaker(self, state: str) -> None: ...


class Breaker(Protocol):
    """The states and strikes of one breaker."""

    def state(
        self,
        state: str,
        *,
        cause: str | None = None,
        strikes: Mapping[str, int] | None = None,
        cooldown: float | None = None,
    ) -> None: ...
    def strike(self, cause: str) -> None: ...


class Sink(Protocol):
    """The functions of `otel_mcp.hooks` that this layer calls."""

    def call(
        self,
        connector: str,
        *,
        tool: str | None = None,
        method: str = "tools/call",
        limit: float | None = None,
        limit_source: str = "guard",
        idempotent: bool | None = None,
    ) -> AbstractContextManager[Call]: ...
    def lock(
        self, lock: Any, connector: str, name: str = "rpc", *, holder: str | None = None
    ) -> AbstractAsyncContextManager[Any]: ...
    def breaker(self, connector: str) -> Breaker: ...
    def keepalive(self, connector: str, method: str = "ping") -> AbstractContextManager[Any]: ...
    def connecting(self, connector: str, reason: str | None = None) -> AbstractContextManager[Any]: ...
    def state(self, connector: str, state: str | None) -> None: ...
    def tools(self, connector: str, count: int) -> None: ...


sink: Sink = cast("Sink", hooks)


def call(connector: str, method: str, name: str | None, limit: float, idempotent: bool) -> AbstractContextManager[Call]:
    """Open a logical call. What the contract does not call a call (``tools/list``) has no record of its own."""
    if method not in CALL_METHODS:
        return nullcontext(_Unrecorded())
    return sink.call(connector, tool=name, method=method, limit=limit, limit_source="guard", idempotent=idempotent)


def holder(connector: str, method: str, name: str | None) -> str:
    """Who holds the lock, as `otel_mcp.lock.holder` has it."""
    return f"{name or method} on {connector}"


class _Unrecorded:
    """Takes what a call would be told, and keeps none of it."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def end(self, outcome: Outcome | str, **_: Any) -> None:
        return None

    def reject(self, error_type: str) -> None:
        return None

    def breaker(self, state: str) -> None:
        return None
