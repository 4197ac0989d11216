"""Whose clock cut a call off: told from a cancellation that carries no reason.

A cancelled call sees nothing but the event loop's cancellation. What tells a time limit from a user's cancel:

* anyio scopes (`fail_after`, `move_on_after`, asyncio and trio): the effective deadline, read when the call began, has
  passed.
* `asyncio.timeout`, and `asyncio.wait_for` from Python 3.12 on: `Timeout._on_timeout` is wrapped and notes the timer;
  while the timer is "expiring", the cancellation is its own. Nothing runs before a timer fires.
* `asyncio.wait_for` up to Python 3.11: it runs the call in an inner task, and the task that waits for that one says in
  its frame whether the time ran out.
* Children of `gather` and of task groups: the task that is being timed out, or whose anyio scope ran out, is an
  ancestor. The way up is in what a task calls back when it is done, so that a cancellation costs the same however many
  other tasks there are.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
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
_MAX_FRAMES: Final = 200
"""Frames of one task that are looked at, so that a program that recurses deeply does not pay for it here."""
_MAX_SCOPES: Final = 200
"""anyio scopes around one another that are looked at, for the same reason."""
_NEVER: Final = float("inf")
_WAITS_IN_FRAME: Final = sys.version_info < (3, 12)
_RELEASE: Final = getattr(asyncio.tasks, "_release_waiter", None)
"""What `wait_for` (Python <= 3.11) has its inner task call when that is done, with the future it waits for itself."""

_fired: weakref.WeakKeyDictionary[Any, list[weakref.ref[Any]]] = weakref.WeakKeyDictionary()
"""The timers that fired last, by the task they are to cancel: held weakly, since a timer holds its task."""


def wrap_on_timeout(original: Any) -> Any:
    """For `asyncio.timeouts.Timeout._on_timeout`: note which timer fired on which task."""

    def _on_timeout(self: Any) -> None:
        original(self)
        with guarded("clocks", "which asyncio.timeout fired"):
            _note(self)

    _on_timeout.__wrapped__ = original  # type: ignore[attr-defined]
    return _on_timeout


def _note(timer: Any) -> None:
    task = getattr(timer, "_task", None)
    if task is not None and _expiring(timer):
        around = [weakref.ref(each) for each in _expiring_on(task) if each is not timer]
        _fired[task] = [*around, weakref.ref(timer)]


def _expiring_on(task: Any) -> list[Any]:
    timers = [entry() for entry in _fired.get(task, ())]
    return [timer for timer in timers if timer is not None and _expiring(timer)]


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
    above = _above(task)
    return (
        _cut_by_timer(task, above, elapsed)
        or _cut_by_scope(above, elapsed)
        or (_cut_by_wait_for(above) if _WAITS_IN_FRAME else None)
    )


def _cut_before_it_began(task: Any) -> Cut | None:
    """The call began in a scope that had been cancelled: anyio then shows no deadline, whoever cancelled it and why."""
    return None if _ran_out(_scope_of(task), loop_time()) is None else Cut(None)


def _cut_by_timer(task: Any, above: list[Any], elapsed: float) -> Cut | None:
    for timed in (task, *above):
        for timer in _expiring_on(timed):
            return Cut(_timer_limit(timer, timed is task, elapsed))
    return None


def _cut_by_scope(above: list[Any], elapsed: float) -> Cut | None:
    """An anyio scope that ran out in a task that waits for this one through `gather`: anyio knows no such children."""
    moment = loop_time()
    for waiting in above:
        deadline = _ran_out(_scope_of(waiting), moment)
        if deadline is not None:
            return Cut(round(deadline - moment + elapsed, 3))
    return None


def _cut_by_wait_for(above: list[Any]) -> Cut | None:
    for waiting in above:
        for frame in _frames(waiting.get_coro()):
            if frame.f_code.co_name != "wait_for" or not frame.f_code.co_filename.endswith("tasks.py"):
                continue
            waiter, seconds = frame.f_locals.get("waiter"), frame.f_locals.get("timeout")
            # `waiter` is done when the time ran out, and cancelled when the waiting task itself was cancelled.
            if seconds is not None and waiter is not None and waiter.done() and not waiter.cancelled():
                return Cut(float(seconds))
    return None


def _scope_of(task: Any) -> Any:
    """The innermost anyio scope that a task is in."""
    states = getattr(sys.modules.get("anyio._backends._asyncio"), "_task_states", None)
    return None if states is None else getattr(states.get(task), "cancel_scope", None)


def _ran_out(scope: Any, moment: float) -> float | None:
    """Deadline of the scope, or of one around it, that was cancelled because its time was over."""
    for _ in range(_MAX_SCOPES):
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
    for _ in range(_MAX_FRAMES):
        if frame is not None:
            yield frame
            frame = frame.f_back


def _frames(coroutine: Any) -> Iterator[Any]:
    """Frames of a suspended coroutine and of those it awaits."""
    for _ in range(_MAX_FRAMES):
        if coroutine is None:
            return
        frame = getattr(coroutine, "cr_frame", None)
        if frame is None:
            frame = getattr(coroutine, "ag_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(coroutine, "cr_await", None)
        coroutine = awaited if awaited is not None else getattr(coroutine, "gi_yieldfrom", None)


def _above(task: Any) -> list[Any]:
    """The tasks that wait for this one, directly, in `gather`, in `wait_for` or in a task group; the nearest first."""
    found: list[Any] = []
    level = [task]
    for _ in range(_MAX_DEPTH):
        level = [waiting for each in level for waiting in _waiting_for(each) if waiting not in found]
        found += level
    return found


def _waiting_for(future: Any) -> Iterator[Any]:
    for callback, _ in getattr(future, "_callbacks", None) or ():
        owner = getattr(callback, "__self__", None)
        if isinstance(callback, functools.partial):
            if callback.func is _RELEASE:
                yield from _waiting_for(callback.args[0])
        elif getattr(owner, "_fut_waiter", None) is future:
            yield owner
        else:
            outer = _enclosed(callback, "outer")
            if hasattr(outer, "_children"):  # `gather`; what `shield` calls back has an `outer` as well
                yield from _waiting_for(outer)
            yield from _leaving(owner if owner is not None else _enclosed(callback, "self"))


def _enclosed(function: Any, name: str) -> Any:
    """A variable that a function has from the function around it."""
    try:
        return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
    except (AttributeError, ValueError):  # not a Python function; no such variable, or nothing in it yet
        return None


def _leaving(group: Any) -> Iterator[Any]:
    """The task that waits in the `__aexit__` of this task group, asyncio's or anyio's."""
    host = getattr(group, "_parent_task", None) or getattr(getattr(group, "cancel_scope", None), "_host_task", None)
    if host is not None:
        for frame in _frames(host.get_coro()):
            if frame.f_code.co_name == "__aexit__" and frame.f_locals.get("self") is group:
                yield host
                return
