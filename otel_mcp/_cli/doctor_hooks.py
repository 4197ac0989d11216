"""Which patch points this environment's SDK and hosts have: they are put in, looked at, and taken out again."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from typing import Any

from otel_mcp._cli import doctor_hosts
from otel_mcp._cli.doctor_model import Section
from otel_mcp._ground import patching
from otel_mcp._ground.settings import Settings


def sdk_hooks() -> Section:
    """The MCP SDK's patch points and asyncio's; no facts where there is no SDK."""
    section = Section("hooks")
    if importlib.util.find_spec("mcp") is None:
        return section
    with _quiet_stdout():
        try:
            importlib.import_module("mcp")
        except Exception as error:  # noqa: BLE001 - whatever a broken installation does
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            section.findings.append(f"mcp cannot be imported here ({reason}): correct its installation, then ask again")
            return section
        from otel_mcp import _sdk

        _sdk.install()
    try:
        _tell(section, {"mcp", "asyncio"})
    finally:
        _sdk.uninstall()
    with contextlib.suppress(ImportError):  # `versions` tells of an OpenTelemetry that is missing or too old
        section.facts["opentelemetry"] = _shortcuts()
    return section


def _shortcuts() -> str:
    """Whether OpenTelemetry's SDK is one whose inner parts we know; without them everything is told, and costs more."""
    from otel_mcp._record import pouring, readymade

    spans = "at once" if readymade.works() else "one by one, by the API"
    points = "many at once" if pouring.works() else "one by one, by the API"
    return f"attributes of spans: {spans}; histogram points: {points}"


def hosts(*, try_them: bool) -> Section:
    """Adapters whose host is installed; `try_them` imports the hosts, which may take seconds each."""
    from otel_mcp._hosts import registry

    section = Section("hosts")
    wanted = Settings.from_environment().hosts
    known = {adapter.TARGET: adapter for adapter in registry.adapters(None)}
    section.findings += registry.unknown(wanted)
    packages = packages_distributions()
    for target, adapter in sorted(known.items()):
        owners = doctor_hosts.owners(adapter, packages)
        if not owners:
            continue
        host = ", ".join(owners)
        if wanted is not None and target not in wanted:
            section.facts[target] = f"{host}: left out by OTEL_MCP_HOSTS"
        elif try_them:
            _try(section, adapter, registry)
            section.facts[target] = {"distribution": host, **(section.facts[target] or {})}
        elif doctor_hosts.found(adapter):
            section.facts[target] = f"{host}: is watched once imported (--hosts tries it)"
        else:
            section.facts[target] = f"{host}: has none of the modules that are watched (--hosts names them)"
    return section


def _try(section: Section, adapter: Any, registry: Any) -> None:
    with _quiet_stdout():
        for module in adapter.MODULES:
            with contextlib.suppress(Exception):  # another part of the host, or another version of it
                importlib.import_module(module)
    registry.install(adapter)
    try:
        _tell(section, {adapter.TARGET})
    finally:
        patching.patch_set(adapter.TARGET).uninstall()


def _tell(section: Section, targets: set[str]) -> None:
    counts = patching.counts()
    for target in sorted(targets):
        states = {state: number for (name, state), number in counts.items() if name == target}
        section.facts[target] = states or None
    for status in patching.statuses():
        if status.target in targets and status.state != patching.ACTIVE:
            section.findings.append(
                f"the patch point {status.point} is {status.state} ({status.detail}): what it tells is not seen; "
                f"look for a newer otel-mcp-client, or use another version of {status.target}"
            )


@contextlib.contextmanager
def _quiet_stdout() -> Iterator[None]:
    """What an imported package prints must not mix with our JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
