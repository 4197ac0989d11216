"""A recording fake of `otel_mcp.hooks`: it notes what it was told, in order, and does nothing else.

It stands in for the hooks where a test is about what is said; tests that use the real ones are in tests/hooks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any


class Recorder:
    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def named(self, *names: str) -> list[tuple[Any, ...]]:
        return [event for event in self.said if event[0] in names]

    @contextmanager
    def call(self, connector: str, **what: Any) -> Iterator[_Call]:
        self.said.append(("call", connector, what))
        yield _Call(self)
        self.said.append(("call ended",))

    @asynccontextmanager
    async def lock(
        self, lock: Any, connector: str, name: str = "rpc", *, holder: str | None = None
    ) -> AsyncIterator[None]:
        self.said.append(("lock", connector, name, holder))
        async with lock:
            yield

    @contextmanager
    def keepalive(self, connector: str, method: str = "ping") -> Iterator[None]:
        self.said.append(("keepalive", connector, method))
        yield

    @contextmanager
    def connecting(self, connector: str, reason: str = "initial") -> Iterator[None]:
        self.said.append(("connecting", connector, reason))
        yield

    def state(self, connector: str, state: str | None) -> None:
        self.said.append(("state", connector, state))

    def tools(self, connector: str, count: int) -> None:
        self.said.append(("tools", connector, count))

    def breaker(self, connector: str) -> _Breaker:
        return _Breaker(self, connector)


class _Call:
    def __init__(self, recorder: Recorder) -> None:
        self._said = recorder.said

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._said.append(("phase", name))
        yield

    def end(self, outcome: Any, **what: Any) -> None:
        self._said.append(("end", str(outcome), {key: value for key, value in what.items() if value is not None}))

    def reject(self, error_type: str) -> None:
        self._said.append(("reject", error_type))

    def breaker(self, state: str) -> None:
        self._said.append(("breaker at start", state))


class _Breaker:
    def __init__(self, recorder: Recorder, connector: str) -> None:
        self._said = recorder.said
        self._connector = connector

    def state(self, state: str, **what: Any) -> None:
        self._said.append(("breaker", self._connector, state, what))

    def strike(self, cause: str) -> None:
        self._said.append(("strike", self._connector, cause))
