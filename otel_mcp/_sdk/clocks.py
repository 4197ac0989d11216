"""Whose clock cut a call off: told from a cancellation that carries no reason.

A cancelled call sees nothing but the event loop's cancellation. What tells a time limit from a user's cancel:

* anyio scopes (`fail_after`, `move_on_after`, asyncio and trio): the effective deadline, read when the call began, has
  passed.
* `asyncio.timeout`, and `asyncio.wait_for` from Python 3.12 on: `Timeout._on_timeout` is wrapped and notes the timer;
  while the timer is "expiring", the cancellation is its own. Nothing runs before a timer fires.
* `asyncio.wait_for` up to Python 3.11: it runs the call in an inner task, so the waiter is looked up among all tasks by
  its frame, only once a cancellation has arrived.
* Children of `gather` and of task groups: the task that is being timed out, or whose anyio scope ran out, is an
  ancestor, found by walking down from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import anyio

from otel_mcp._ground.guard import guarded

_MAX_DEPTH: Final = 8
"""Levels of gather and task groups that are followed; nobody was seen to nest deeper."""
_MAX_TASKS: Final = 5000
"""Tasks looked at for a waiter on Python <= 3.11: only after a cancellation, and bounded."""
_TRIES: Final = 1000
"""As often as `asyncio.all_tasks`, which has the same problem."""
_NEVER: Final = float("inf")


@dataclass(slots=True, eq=False)
class _Fired:
    timer: Any
    task: weakref.ref[Any]


_fired: list[_Fired] = []
_WAITS_IN_FRAME: Final = sys.version_info < (3, 12)


def wrap_on_timeout(original: Any) -> Any:
    """For `asyncio.timeouts.Timeout._on_timeout`: note which timer fired on which task."""

    def _on_timeout(self: Any) -> None:
        original(self)
        with guarded("clocks", "which asyncio.timeout fired"):
            _note(self)

    _on_timeout.__wrapped__ = original  # type: ignore[attr-defined]
    return _on_timeout


def _note(timer: Any) -> None:
    for entry in list(_fired):
        if not _expiring(entry.timer):
            with contextlib.suppress(ValueError):  # another thread's timer was faster
                _fired.remove(entry)
    task = getattr(timer, "_task", None)
    if task is not None and _expiring(timer):
        _fired.append(_Fired(timer, weakref.ref(task)))


def _expiring(timer: Any) -> bool:
    state = getattr(timer, "_state", None)
    return getattr(state, "value", None) == "expiring" or (state is None and timer.expired())


@dataclass(frozen=True, slots=True)
class Cut:
    """A caller's limit ran out: how long it was, where that is known."""

    limit: float | None


def anyio_deadline() -> float:
    """The caller's effective anyio deadline on the event loop's clock; infinity without one."""
    try:
        # On asyncio the backend is asked directly: the public function first finds out which library is running.
        ask = _backends_own() if asyncio._get_running_loop() is not None else anyio.current_effective_deadline
        return ask()
    except Exception:  # noqa: BLE001 - no async library is running, or one that anyio does not know
        return _NEVER


@functools.cache
def _backends_own() -> Callable[[], float]:
    """What anyio asks on asyncio in the end."""
    backend = sys.modules.get("anyio._backends._asyncio")
    own = getattr(getattr(backend, "AsyncIOBackend", None), "current_effective_deadline", None)
    return own or anyio.current_effective_deadline


def loop_time() -> float:
    """The event loop's clock, or NaN where none runs."""
    try:
        return anyio.current_time()
    except Exception:  # noqa: BLE001 - as above
        return float("nan")


def cut_by_caller(deadline: float, limit: float | None, elapsed: float) -> Cut | None:
    """Whether the cancellation that just arrived came from a time limit of the caller.

    `deadline` and `limit` are of the anyio scope as it stood when the call began (the clock's value, and seconds from
    then).
    """
    if float("-inf") < deadline <= loop_time():
        return Cut(limit)
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    if task is None:
        return None
    if deadline == float("-inf"):
        return _cut_before_it_began(task)
    for entry in _fired:
        timed = entry.task()
        if timed is not None and _expiring(entry.timer) and (timed is task or _waits_for(timed, task)):
            return Cut(_timer_limit(entry.timer, timed is task, elapsed))
    return _cut_by_scope_above(task, elapsed) or (_cut_by_wait_for(task) if _WAITS_IN_FRAME else None)


def _cut_before_it_began(task: Any) -> Cut | None:
    """The call began in a scope that had been cancelled: anyio then shows no deadline, whoever cancelled it and why."""
    states = getattr(sys.modules.get("anyio._backends._asyncio"), "_task_states", None) or {}
    scope = getattr(states.get(task), "cancel_scope", None)
    return None if _ran_out(scope, loop_time()) is None else Cut(None)


def _cut_by_scope_above(task: Any, elapsed: float) -> Cut | None:
    """An anyio scope that ran out in a task that waits for this one through `gather`: anyio knows no such children."""
    states = getattr(sys.modules.get("anyio._backends._asyncio"), "_task_states", None)
    if states is None:
        return None
    moment = loop_time()
    for waiting, state in _listed(states):
        deadline = _ran_out(getattr(state, "cancel_scope", None), moment)
        if deadline is not None and waiting is not task and _waits_for(waiting, task):
            return Cut(round(deadline - moment + elapsed, 3))
    return None


def _listed(states: Any) -> list[tuple[Any, Any]]:
    """Tasks of all event loops stand in one mapping, which other threads change while it is read."""
    for _ in range(_TRIES):
        try:
            return list(states.items())
        except RuntimeError:
            continue
    return []


def _ran_out(scope: Any, moment: float) -> float | None:
    """Deadline of the scope, or of one around it, that was cancelled because its time was over."""
    for _ in range(200):
        if scope is None:
            return None
        if scope.cancel_called and scope.deadline <= moment:
            return float(scope.deadline)
        scope = getattr(scope, "_parent_scope", None)
    return None


def _timer_limit(timer: Any, running: bool, elapsed: float) -> float | None:
    """Seconds the caller gave: `wait_for` says it in its frame; of `asyncio.timeout`, what was left at the start."""
    timed = getattr(timer, "_task", None)
    frames = _stack() if running else _frames(timed.get_coro() if timed is not None else None)
    for frame in frames:
        if frame.f_code.co_name == "wait_for" and frame.f_locals.get("timeout") is not None:
            seconds = frame.f_locals["timeout"]
            return float(seconds) if isinstance(seconds, (int, float)) else None
    when = timer.when()
    return None if when is None else round(when - loop_time() + elapsed, 3)


def _stack() -> Iterator[Any]:
    frame: FrameType | None = sys._getframe(1)
    for _ in range(200):
        if frame is not None:
            yield frame
            frame = frame.f_back


def _cut_by_wait_for(task: Any) -> Cut | None:
    seen = 0
    for waiter_task in asyncio.all_tasks():
        seen += 1
        if seen > _MAX_TASKS:
            return None
        for frame in _frames(waiter_task.get_coro()):
            if frame.f_code.co_name != "wait_for" or not frame.f_code.co_filename.endswith("tasks.py"):
                continue
            names = frame.f_locals
            waiter, inner, seconds = names.get("waiter"), names.get("fut"), names.get("timeout")
            if waiter is None or inner is None or seconds is None:
                continue
            # `waiter` is done when the time ran out, and cancelled when the waiting task itself was cancelled.
            if waiter.done() and not waiter.cancelled() and (inner is task or _reaches(inner, task, 0)):
                return Cut(float(seconds))
    return None


def _frames(coroutine: Any) -> Iterator[Any]:
    """Frames of a suspended coroutine and of those it awaits."""
    for _ in range(200):
        if coroutine is None:
            return
        frame = getattr(coroutine, "cr_frame", None)
        if frame is None:
            frame = getattr(coroutine, "ag_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(coroutine, "cr_await", None)
        coroutine = awaited if awaited is not None else getattr(coroutine, "gi_yieldfrom", None)


def _waits_for(parent: Any, child: Any, depth: int = 0) -> bool:
    """Whether `parent` waits, through gather or a task group, for `child`."""
    if depth > _MAX_DEPTH:
        return False
    waiting_on = getattr(parent, "_fut_waiter", None)
    if waiting_on is not None and _reaches(waiting_on, child, depth):
        return True
    coroutine = parent.get_coro() if hasattr(parent, "get_coro") else None
    for frame in _frames(coroutine):
        group = frame.f_locals.get("self") if frame.f_code.co_name == "__aexit__" else None
        tasks = getattr(group, "_tasks", None)
        if isinstance(tasks, (set, frozenset)) and any(_reaches(task, child, depth + 1) for task in list(tasks)):
            return True
    return False


def _reaches(future: Any, child: Any, depth: int) -> bool:
    if future is child:
        return True
    if depth > _MAX_DEPTH:
        return False
    children = getattr(future, "_children", None)
    if children is not None:
        return any(_reaches(inner, child, depth + 1) for inner in list(children))
    if hasattr(future, "get_coro"):
        return _waits_for(future, child, depth + 1)
    return False
