"""Whose lock it is and who holds it, for as long as the lock is there and no longer."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from harness.waiting import await_for
from otel_mcp import hooks, testing
from otel_mcp._ground import guard
from otel_mcp._reports import locks

pytestmark = pytest.mark.anyio


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[testing.Capture]:
    monkeypatch.setattr(guard, "reraise", True)
    gc.collect()  # locks of the tests before may be gone and not collected
    monkeypatch.setattr(locks, "_MAX_WATCHED", len(locks._watched) + 3)
    with testing.capture() as captured:
        yield captured


class Slotted:
    """A lock that allows no weak references."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        self._inner = asyncio.Lock()

    async def acquire(self) -> Any:
        return await self._inner.acquire()

    def release(self) -> None:
        self._inner.release()


async def holder_behind(lock: Any, seen: testing.Capture) -> Any:
    """Whom a call names that has to wait for the lock."""

    async def second() -> None:
        with hooks.call("odoo", tool="second"):
            async with hooks.lock(lock, "odoo"):
                pass

    with hooks.call("odoo", tool="first"):
        async with hooks.lock(lock, "odoo"):
            task = asyncio.create_task(second())
            await await_for(lambda: seen.total("otel_mcp.client.lock.waiting"))
        await task
    return [call for call in seen.calls if call.tool == "second"][-1].fields["lock_holder"]


async def passed(lock: Any) -> None:
    async with hooks.lock(lock, "odoo"):
        pass


@pytest.mark.parametrize("kind", [asyncio.Lock, anyio.Lock, anyio.CapacityLimiter])
async def test_a_lock_that_nobody_has_any_more_is_not_kept_alive(kind: Any, seen: testing.Capture) -> None:
    before = len(locks._watched)
    lock = kind() if kind is not anyio.CapacityLimiter else kind(1)
    gone = weakref.ref(lock)
    await passed(lock)
    assert len(locks._watched) == before + 1
    del lock
    gc.collect()
    assert (gone(), len(locks._watched)) == (None, before)


async def test_a_lock_that_came_after_many_that_are_gone_has_a_holder(seen: testing.Capture) -> None:
    for _ in range(20):
        await passed(asyncio.Lock())
    assert await holder_behind(asyncio.Lock(), seen) == "first on odoo"


async def test_a_lock_beyond_the_budget_has_waits_and_no_holder(seen: testing.Capture) -> None:
    kept = [asyncio.Lock() for _ in range(3)]
    for lock in kept:
        await passed(lock)
    assert await holder_behind(asyncio.Lock(), seen) is None
    assert await holder_behind(kept[0], seen) == "first on odoo"


async def test_a_lock_that_allows_no_weak_reference_is_kept_and_has_a_holder(seen: testing.Capture) -> None:
    lock = Slotted()
    assert await holder_behind(lock, seen) == "first on odoo"
    assert lock in [reference() for reference, _ in locks._watched.values()]


async def test_another_lock_with_the_identity_of_one_that_is_gone_is_another(seen: testing.Capture) -> None:
    """Locks follow one another at one address; none inherits who held the one before."""
    holders = []
    for _ in range(5):
        lock = asyncio.Lock()
        await passed(lock)
        holders.append(locks._watched[id(lock), "odoo"][1])
        del lock
    assert len({id(holder) for holder in holders}) == 5
