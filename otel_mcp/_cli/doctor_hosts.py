"""Which hosts are installed, found without importing them: a host's import takes seconds and may do anything."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import Final

from otel_mcp._hosts.registry import Adapter

_FORMS: Final = ("", "-slim", "-core", "-agent")
"""What a distribution has after the name of the host: pydantic-ai-slim, agent-framework-core, hermes-agent."""


def found(adapter: Adapter) -> list[str]:
    """Those of the adapter's modules that an import would find."""
    return [module for module in adapter.MODULES if _spec(module) is not None]


def owners(adapter: Adapter, packages: Mapping[str, Iterable[str]]) -> list[str]:
    """The host's distributions with their versions, or the folder it lies in; empty where it is not installed.

    `packages` is what `packages_distributions` says. A host without any of the modules that we know, which it may have
    moved, is installed if one of its own distributions is. Who else has the first part of a module's name says nothing:
    `google` and `tools` are many people's.
    """
    names = {adapter.TARGET.replace("_", "-") + form for form in _FORMS}
    providers = {each for module in adapter.MODULES for each in packages.get(module.partition(".")[0], ())}
    own = {each for each in providers if each.lower().replace("_", "-") in names}
    modules = found(adapter)
    if not own and not modules:
        return []
    return sorted(f"{each} {version(each)}" for each in own or providers) or [f"in {_folder(modules[0])}"]


def _folder(module: str) -> Path:
    spec = _spec(module)
    origin = None if spec is None else spec.origin
    return Path(origin or ".").resolve().parents[module.count(".")]


def _spec(module: str) -> ModuleSpec | None:
    """As `importlib.util.find_spec`, which would import the packages that the module lies in."""
    top, *parts = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module in `sys.modules` that was not imported from anywhere
        return None
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        # The last part alone: for a folder without __init__.py the whole name would want its parent imported.
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec
