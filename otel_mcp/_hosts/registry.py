"""Which adapters there are, and their way in and out."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Final, Protocol, cast

from otel_mcp import _hosts
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch, patch_set

_HERE: Final = "registry"


class Adapter(Protocol):
    """What an adapter module has."""

    TARGET: str
    MODULES: tuple[str, ...]

    def patches(self, switch: Switch) -> list[Patch]:
        """The adapter's rows of the patch table."""


def adapters(wanted: frozenset[str] | None) -> Iterator[Adapter]:
    """Every adapter module, or those whose hook target is wanted."""
    for found in pkgutil.iter_modules(_hosts.__path__):
        if found.name == _HERE or found.name.startswith("_"):
            continue
        with guarded("hosts", f"the adapter {found.name}"):
            adapter = cast("Adapter", importlib.import_module(f"{_hosts.__name__}.{found.name}"))
            if wanted is None or adapter.TARGET in wanted:
                yield adapter


def unknown(wanted: frozenset[str] | None) -> list[str]:
    """One sentence for each name in ``OTEL_MCP_HOSTS`` that is no adapter's."""
    if not wanted:
        return []
    known = sorted(adapter.TARGET for adapter in adapters(None))
    used = ", ".join(sorted(wanted.intersection(known)))
    instead = f"no adapter but {used} is used" if used else "no other adapter is used"
    return [
        f"OTEL_MCP_HOSTS names {name!r}, for which there is no adapter; there are: {', '.join(known)}; "
        f"{instead}{_meant(name, known)}"
        for name in sorted(wanted.difference(known))
    ]


def _meant(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # a slow import that hardly anybody needs

    near = [each for each in known if name in each] or get_close_matches(name, known, n=1)
    return f"; is {near[0]} meant?" if near else ""


def install(adapter: Adapter) -> None:
    """Patch a host whose modules are imported; a second call adds what could not be put in before."""
    patches = patch_set(adapter.TARGET)
    patches.install(adapter.patches(patches.switch))


def uninstall() -> None:
    """Take every adapter's patches out."""
    for adapter in adapters(None):
        patch_set(adapter.TARGET).uninstall()
