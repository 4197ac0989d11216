"""Call back when a module has been imported.

One finder stands first in `sys.meta_path` and looks each imported name up in a table; a name that is not there costs
that look-up. A name that is there is loaded by whoever would have loaded it anyway, and the callback runs right after
the module's code. The finder leaves no trace in the module: its spec and loader are the original ones.

Only `sys` is imported here, because this runs in every Python process that is started with the variable set.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing and importlib would cost each start milliseconds
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_waiting: dict[str, list[Callable[[], None]]] = {}
_half_loaded: list[tuple[ModuleType, Callable[[], None]]] = []
"""Modules whose code was running when somebody began to wait for them: a host that imports `mcp` at its top."""


def when_imported(name: str, callback: Callable[[], None]) -> None:
    """Run `callback()` once, after module `name` has been imported; at once if it has been already.

    The same callback is kept once. What it raises is counted as a fault of ours and goes no further.
    """
    module = sys.modules.get(name)
    if module is not None:
        if _is_loading(module):
            _half_loaded.append((module, callback))
            _stand_first()
        else:
            _run(callback)
        return
    callbacks = _waiting.setdefault(name, [])
    if callback not in callbacks:
        callbacks.append(callback)
    _stand_first()


def settle() -> None:
    """Run what waits for modules that were half loaded and have finished since; asked at imports and sessions."""
    for entry in list(_half_loaded):
        module, callback = entry
        if not _is_loading(module) and entry in _half_loaded:
            _half_loaded.remove(entry)
            _run(callback)


def _stand_first() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget_all() -> None:
    """Take the finder out and drop every callback that has not run."""
    _waiting.clear()
    _half_loaded.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _run(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception as error:  # noqa: BLE001 - an import of the program must not fail for us
        from otel_mcp._ground.guard import caught

        caught("import_hook", "the patches of a module", error)


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if _half_loaded:
            settle()
        if name not in _waiting:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec: ModuleSpec | None = find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment] # a loader by its methods
                return spec
        return None


class _Loader:
    """Stands in for the real loader until the module's code runs."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        create = getattr(self._real, "create_module", None)
        return create(spec) if create is not None else None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._real
        module.__loader__ = self._real
        self._real.exec_module(module)
        for callback in _waiting.pop(module.__name__, ()):
            _run(callback)


_finder: Any = _Finder()
