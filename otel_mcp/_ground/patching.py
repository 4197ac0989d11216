"""Patch points as data: one table drives install, uninstall, `otel-mcp doctor` and the `otel_mcp.hooks` gauge.

Install and uninstall are exact inverses. Where somebody else has wrapped an attribute after us, taking our wrapper out
would take theirs out too, so ours stays and turns into a plain passage (`Switch.on` is False).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from otel_mcp._ground import guard

ACTIVE, MISSING, FAILED = "active", "missing", "failed"

_ABSENT: Final = object()


class Switch:
    """Whether our wrappers of one hook target do anything."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


@dataclass(frozen=True)
class Patch:
    """One row of a table: which attribute of which module, and what replaces it.

    `path` is dotted below the module (``ClientSession.send_request``). `wrap` gets the original and returns the
    replacement. With `cell`, the attribute is a function whose closure cell of that name is replaced instead: this
    reaches helpers that others imported by name before us. `optional` rows exist in some versions only; where absent
    they count neither as active nor as missing.
    """

    target: str
    module: str
    path: str
    wrap: Callable[[Any], Any]
    cell: str | None = None
    optional: bool = False


@dataclass
class _Installed:
    patch: Patch
    owner: Any
    name: str
    before: Any
    """What stood in the owner's own namespace; `_ABSENT` if the attribute was inherited."""
    ours: Any
    cell: Any = None


@dataclass
class Status:
    """One patch point as `otel-mcp doctor` shows it."""

    target: str
    point: str
    state: str
    detail: str = ""


@dataclass
class PatchSet:
    """The patches of one hook target that were tried in this process."""

    switch: Switch = field(default_factory=Switch)
    statuses: dict[str, Status] = field(default_factory=dict)
    _installed: list[_Installed] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def install(self, patches: Iterable[Patch]) -> None:
        """Put in every patch whose module is imported; never raises."""
        with self._lock:
            present = {(done.patch.module, done.patch.path) for done in self._installed}
            for patch in patches:
                if (patch.module, patch.path) not in present:
                    self._try(patch)
            self.switch.on = True

    def _try(self, patch: Patch) -> None:
        point = f"{patch.module}:{patch.path}"
        state, detail = ACTIVE, ""
        try:
            self._put(patch)
        except (AttributeError, KeyError) as error:
            if patch.optional:
                return
            state, detail = MISSING, str(error)
        except Exception as error:  # noqa: BLE001 - whatever a changed SDK does, the program must not notice
            state, detail = FAILED, f"{type(error).__name__}: {error}"
            guard.logger.warning("otel_mcp: hook %s failed: %s", point, detail)
        self.statuses[point] = Status(patch.target, point, state, detail)

    def _put(self, patch: Patch) -> None:
        module = sys.modules.get(patch.module)
        if module is None:
            raise KeyError(f"module {patch.module} is not imported")
        owner: Any = module
        *parents, name = patch.path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        if patch.cell is not None:
            self._put_cell(patch, getattr(owner, name))
            return
        original = getattr(owner, name)
        before = vars(owner).get(name, _ABSENT)
        if before is _ABSENT and isinstance(owner, type):
            original = _inherited(owner, name, original)
        ours = patch.wrap(original)
        setattr(owner, name, ours)
        self._installed.append(_Installed(patch, owner, name, before, ours))

    def _put_cell(self, patch: Patch, function: Any) -> None:
        index = function.__code__.co_freevars.index(patch.cell) if patch.cell in function.__code__.co_freevars else None
        if index is None:
            raise AttributeError(f"{patch.path} has no closure variable {patch.cell}")
        cell = function.__closure__[index]
        before = cell.cell_contents
        cell.cell_contents = ours = patch.wrap(before)
        self._installed.append(_Installed(patch, function, patch.path, before, ours, cell))

    def uninstall(self) -> None:
        """Take out every patch that is still ours on top; the others turn into plain passages."""
        with self._lock:
            self.switch.on = False
            for done in reversed(self._installed):
                with contextlib.suppress(AttributeError):
                    _take_out(done)
            self._installed.clear()
            self.statuses.clear()


def _inherited(owner: type, name: str, found: Any) -> Any:
    """`found`, looked up again at each call: another instrumentor may patch the base class after us."""

    @functools.wraps(found)
    def inherited(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(owner, self), name)(*args, **kwargs)

    return inherited


_sets: dict[str, PatchSet] = {}


def patch_set(target: str) -> PatchSet:
    """The patches of a hook target (`mcp`, `asyncio`, a host's name), made on first use."""
    return _sets.setdefault(target, PatchSet())


def statuses() -> list[Status]:
    """Every patch point that was tried in this process, for `otel_mcp.hooks` and `otel-mcp doctor`."""
    return [status for patches in list(_sets.values()) for status in list(patches.statuses.values())]


def counts() -> dict[tuple[str, str], int]:
    """Number of patch points by target and state; the states of a target that was tried are all there."""
    found: dict[tuple[str, str], int] = {}
    for status in statuses():
        for state in (ACTIVE, MISSING, FAILED):
            found.setdefault((status.target, state), 0)
        found[(status.target, status.state)] += 1
    return found


def _take_out(done: _Installed) -> None:
    if done.cell is not None:
        if done.cell.cell_contents is done.ours:
            done.cell.cell_contents = done.before
        return
    if vars(done.owner).get(done.name) is not done.ours:
        return
    if done.before is _ABSENT:
        delattr(done.owner, done.name)
    else:
        setattr(done.owner, done.name, done.before)
