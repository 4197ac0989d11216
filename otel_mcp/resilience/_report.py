"""What this layer tells `otel_mcp.hooks`; the only module here that knows it.

`Sink` is the part of the hooks that is used. Everything goes through the module's `sink`, looked up at the moment of
use, so that a test can put a recorder in its place.
"""

from __future__ import annotations

from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from typing import TYPE_CHECKING, Any, Protocol, cast

from otel_mcp import hooks
from otel_mcp._ground.names import CALL_METHODS
from otel_mcp._ground.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Call(Protocol):
    """One logical call; the SDK's requests inside are its attempts."""

    def phase(self, name: str) -> AbstractContextManager[Any]: ...
    def end(
        self,
        outcome: Outcome,
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
        strikes: dict[str, int] | None = None,
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
    def lock(self, lock: Any, connector: str, name: str = "rpc") -> AbstractAsyncContextManager[Any]: ...
    def breaker(self, connector: str) -> Breaker: ...
    def keepalive(self, connector: str, method: str = "ping") -> AbstractContextManager[Any]: ...
    def connecting(self, connector: str, reason: str = "initial") -> AbstractContextManager[Any]: ...
    def state(self, connector: str, state: str) -> None: ...
    def tools(self, connector: str, n: int) -> None: ...


class _Quiet:
    """Says nothing, for as long as the hooks have nothing to say it with."""

    @contextmanager
    def call(self, connector: str, **_: Any) -> Iterator[_Quiet]:
        yield self

    @contextmanager
    def keepalive(self, connector: str, method: str = "ping") -> Iterator[_Quiet]:
        yield self

    @contextmanager
    def connecting(self, connector: str, reason: str = "initial") -> Iterator[_Quiet]:
        yield self

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        yield

    @asynccontextmanager
    async def lock(self, lock: Any, connector: str, name: str = "rpc") -> AsyncIterator[None]:
        async with lock:
            yield

    def breaker(self, connector: str) -> Any:
        return self

    def state(self, *_: Any, **__: Any) -> None: ...
    def tools(self, *_: Any) -> None: ...
    def strike(self, cause: str) -> None: ...
    def end(self, outcome: Outcome, **_: Any) -> None: ...
    def reject(self, error_type: str) -> None: ...


sink: Sink = cast("Sink", hooks) if hasattr(hooks, "call") else _Quiet()


def call(connector: str, method: str, name: str | None, limit: float, idempotent: bool) -> AbstractContextManager[Call]:
    """Open a logical call. What the contract does not call a call (``tools/list``) has no record of its own."""
    if method not in CALL_METHODS:
        return nullcontext(_Quiet())
    return sink.call(connector, tool=name, method=method, limit=limit, limit_source="guard", idempotent=idempotent)
