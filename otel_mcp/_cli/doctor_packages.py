"""What is installed here: versions, extras, the start file, and what gets in our way."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import site
import sys
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, Final

from otel_mcp._cli.doctor_model import Section
from otel_mcp._ground.settings import Settings
from otel_mcp._ground.supported import is_supported
from otel_mcp._version import __version__

_SDK: Final = "mcp"
NEEDED: Final = {
    "opentelemetry-api": (1, 43),
    "opentelemetry-sdk": (1, 43),
    "opentelemetry-instrumentation": (0, 64),
    "opentelemetry-exporter-prometheus": (0, 64),
    "opentelemetry-exporter-otlp-proto-http": (1, 43),
    "wrapt": (1, 16),
}
"""What the base install depends on, with the lowest versions."""
_OPTIONAL: Final = ("opentelemetry-exporter-otlp-proto-grpc",)
_EXTRAS: Final = {
    "demo": ("mcp", "rich"),
    "report": ("duckdb", "jinja2", "rich", "scipy"),
    "resilience": ("anyio", "mcp"),
}
_FOREIGN: Final = "otel-mcp"
_START_FILE: Final = "otel_mcp_start.pth"


def versions() -> Section:
    """Python, this package, the SDK, OpenTelemetry."""
    sdk = installed(_SDK)
    facts: dict[str, Any] = {"python": f"{platform.python_version()} ({sys.executable})", "otel_mcp": __version__}
    facts[_SDK] = sdk
    facts |= {name: installed(name) for name in (*NEEDED, *_OPTIONAL)}
    section = Section("versions", facts)
    for name, lowest in NEEDED.items():
        if facts[name] is None:
            section.findings.append(f"{name} is not installed, which otel-mcp-client needs: `pip install {name}`")
        elif _numbers(facts[name]) < lowest:
            section.findings.append(
                f"{name} {facts[name]} is too old: otel-mcp-client needs {'.'.join(map(str, lowest))} or newer, "
                f"`pip install --upgrade {name}`"
            )
    if sdk is None:
        section.findings.append(
            f"the MCP SDK (mcp) is not installed for {sys.executable}: run doctor with your program's Python, "
            "`python -m otel_mcp doctor`, or install mcp there"
        )
    elif not is_supported(sdk):
        section.findings.append(
            f"mcp {sdk} is outside of what is watched (1.19 to 2.x): calls may go unseen; install another version"
        )
    if installed(_FOREIGN) is not None:
        section.findings.append(
            f"the distribution {_FOREIGN} {installed(_FOREIGN)} is somebody else's and installs the same module "
            "otel_mcp and the same command otel-mcp: uninstall both, then `pip install otel-mcp-client`"
        )
    return section


def _numbers(version: str) -> tuple[int, ...]:
    """The first two parts of a version, as far as they are numbers."""
    return tuple(int(digits[0]) for part in version.split(".")[:2] if (digits := re.match(r"\d+", part)))


def start() -> Section:
    """The start file and the extras."""
    where = start_file()
    section = Section("installation", {"start file": where})
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        hint = f"missing {', '.join(missing)} (pip install 'otel-mcp-client[{extra}]')"
        section.facts[f"extra {extra}"] = hint if missing else "complete"
    if where is None and Settings.from_environment().enabled and "OTEL_MCP_RUN" not in os.environ:
        section.findings.append(
            f"OTEL_MCP_ENABLED is set and there is no {_START_FILE} in this environment's site-packages, so the "
            "variable does nothing here: install otel-mcp-client as a wheel, or start with `otel-mcp run -- CMD`"
        )
    return section


def start_file() -> str | None:
    """The path of the start file that this interpreter reads, None without one."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return next((str(Path(each) / _START_FILE) for each in folders if (Path(each) / _START_FILE).is_file()), None)


def installed(name: str) -> str | None:
    """A distribution's version, None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def distribution_names() -> set[str]:
    """Every distribution on the path, spelled as PEP 503 has it."""
    names = (each.metadata["Name"] for each in distributions())
    return {name.lower().replace("_", "-").replace(".", "-") for name in names if name}
