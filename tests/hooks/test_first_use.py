"""The first report starts the telemetry; another thread may be at it already, and need what the reporter holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from otel_mcp import hooks, testing
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import scopes


async def locked() -> None:
    async with hooks.lock(asyncio.Lock(), "erp"):
        pass


REPORTS: dict[str, Callable[[], object]] = {
    "state": lambda: hooks.state("erp", "parked"),
    "breaker": lambda: hooks.breaker("erp"),
    "call": lambda: hooks.call("erp", tool="echo").__exit__(None, None, None),
    "lock": lambda: asyncio.run(locked()),
}


@pytest.mark.parametrize("name", REPORTS)
def test_no_report_holds_the_ledger_while_it_starts_the_telemetry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    free: list[bool] = []

    def take() -> None:
        free.append(ledger.lock.acquire(blocking=False))
        if free[-1]:
            ledger.lock.release()

    def start() -> None:
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()

    with testing.capture():
        monkeypatch.setattr(scopes, "starters", [start])
        REPORTS[name]()
        monkeypatch.undo()
    assert free
    assert all(free)
