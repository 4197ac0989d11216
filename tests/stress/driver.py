"""Carries a plan out, and counts what it asked for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
from mcp import ClientSession
from stress.peer import connected
from stress.plan import Call, Plan, Session

from harness.sessions import ping, sdk_timeout
from otel_mcp import hooks

LIMIT = 0.05
"""Seconds; every limit and every cancel of a plan."""
HANDSHAKE_LIMIT = 0.2
LONG_ENOUGH = 60.0
"""Seconds after which a plan counts as hung."""


class Tally:
    """What the program knows of its own calls. Each counter is written by one thread."""

    def __init__(self) -> None:
        self.started = 0
        """Calls that were handed over, at whatever layer."""
        self.released: Counter[str] = Counter()
        """How they came back."""


class Hung(Exception):
    """A thread of the plan did not come to its end."""


def carry_out(plan: Plan) -> list[Tally]:
    """One tally a thread.

    Raises:
        Hung: a thread did not end.
    """
    tallies = [Tally() for _ in plan.threads]
    problems: list[BaseException] = []
    together = threading.Barrier(len(plan.threads))

    def work(number: int) -> None:
        try:
            together.wait(LONG_ENOUGH)
            asyncio.run(_loop(plan.threads[number], tallies[number], number))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(plan.threads))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_ENOUGH)
    if any(thread.is_alive() for thread in threads):
        raise Hung(f"after {LONG_ENOUGH:g} s; {[tally.started for tally in tallies]} calls were started")
    if problems:
        raise problems[0]
    return tallies


async def _loop(sessions: tuple[Session, ...], tally: Tally, thread: int) -> None:
    lock = asyncio.Lock()
    async with anyio.create_task_group() as tasks:
        for number, session in enumerate(sessions):
            # Two sessions of a thread share a connector, and so do the threads.
            tasks.start_soon(_Visit(session, tally, f"server-{number % 2}", lock).run)


class _Visit:
    """One session, from its handshake to the release of the last caller."""

    def __init__(self, plan: Session, tally: Tally, name: str, lock: asyncio.Lock) -> None:
        self._plan = plan
        self._tally = tally
        self._name = name
        self._lock = lock

    async def run(self) -> None:
        async with anyio.create_task_group() as callers:
            with contextlib.suppress(Exception):
                await self._visit(callers)
            callers.cancel_scope.cancel()  # on 1.x nobody tells the waiters of a session that was left

    async def _visit(self, callers: Any) -> None:
        async with connected(self._plan.handshake, self._name) as streams, ClientSession(*streams) as session:
            with anyio.fail_after(HANDSHAKE_LIMIT):
                await session.initialize()
            for burst in self._plan.bursts[:-1]:
                async with anyio.create_task_group() as tasks:
                    self._start(tasks, session, burst)
            if self._plan.leave:
                self._start(callers, session, self._plan.bursts[-1])
                await anyio.lowlevel.checkpoint()  # now the calls have begun
                await anyio.lowlevel.checkpoint()
                return
            async with anyio.create_task_group() as tasks:
                self._start(tasks, session, self._plan.bursts[-1])

    def _start(self, tasks: Any, session: Any, burst: tuple[Call, ...]) -> None:
        for call in burst:
            tasks.start_soon(self._call, session, call)
        if self._plan.ping:
            tasks.start_soon(self._ping, session)

    async def _ping(self, session: Any) -> None:
        with contextlib.suppress(Exception), anyio.move_on_after(LIMIT):
            await ping(session)

    async def _call(self, session: Any, call: Call) -> None:
        limit = LIMIT if call.ending == "sdk" else None
        ending = call.ending
        if ending == "none" and call.peer == "silent":
            ending = "scope"  # or it would hang for good
        if ending == "sdk" and (call.layer == "lock" or call.method != "tools/call"):
            ending = "wait_for"  # the SDK's time-out does not run before the lock, and only tools have one of their own
        if ending == "close" and call.layer == "retry":
            ending = "cancel"  # a coroutine that sends again while it is being closed is destroyed in the middle
        try:
            await _ended(ending, lambda: self._layered(session, call, limit))
        except asyncio.CancelledError:
            self._tally.released["cancelled"] += 1
            raise
        except Exception as error:
            self._tally.released[type(error).__name__] += 1
        else:
            self._tally.released["ended"] += 1

    async def _layered(self, session: Any, call: Call, limit: float | None) -> None:
        self._tally.started += 1
        if call.layer == "sdk":
            await _request(session, call, limit)
            return
        tool = call.peer if call.method != "resources/read" else None
        with hooks.call(self._name, tool=tool, method=call.method):
            if call.layer == "lock":
                async with hooks.lock(self._lock, self._name):
                    await _request(session, call, limit)
                return
            try:
                await _request(session, call, limit)
            except Exception:
                if call.layer != "retry":
                    raise
                await _request(session, call, limit)


def _request(session: Any, call: Call, limit: float | None) -> Awaitable[Any]:
    made: Awaitable[Any]
    if call.method == "tools/call":
        made = session.call_tool(call.peer, {}, read_timeout_seconds=sdk_timeout(limit))
    elif call.method == "resources/read":
        made = session.read_resource(f"peer://{call.peer}/{call.peer}")
    else:
        made = session.get_prompt(call.peer, {})
    return made


async def _ended(ending: str, make: Callable[[], Awaitable[Any]]) -> None:
    """Awaits what `make` makes, under the ending of the plan."""
    if ending == "wait_for":
        await asyncio.wait_for(make(), LIMIT)
    elif ending == "scope":
        with anyio.move_on_after(LIMIT):
            await make()
    elif ending == "close":
        _closed_where_it_stands(make())
    elif ending in ("cancel", "foreign_cancel"):
        task = asyncio.ensure_future(make())
        await asyncio.wait([task], timeout=LIMIT)
        loop = asyncio.get_running_loop()
        if ending == "cancel":
            task.cancel()
        else:
            await asyncio.to_thread(loop.call_soon_threadsafe, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task
    else:
        with anyio.move_on_after(LIMIT * 4):
            await make()


def _closed_where_it_stands(coroutine: Any) -> None:
    """As a generator that nobody finishes: started, and closed at its first wait."""
    with contextlib.suppress(StopIteration):
        coroutine.send(None)
    coroutine.close()
