"""Where the subjects live: virtual environments below ``.envs``, made once and kept. Needs ``tests`` on the path."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from matrix import pythons
from matrix.environments import ENVS, build_wheel, pip, prepare, program

SDKS = ("1.30", "2.3")
PEERS: Mapping[str, str] = {
    "traceloop": "opentelemetry-instrumentation-mcp==0.62.4",
    "openinference": "openinference-instrumentation-mcp==2.0.13",
    "logfire": "logfire==5.4.0",
    "openlit": "openlit==1.45.0",
    "ddtrace": "ddtrace==4.16.0",
    "fastmcp": "fastmcp==4.2.3",
}
_ONLY = {"fastmcp": "2.3"}
"""fastmcp 4 brings its SDK with it."""
_REASON_LENGTH = 160


class Unavailable(Exception):
    """An environment that cannot be had; the text says why."""


@dataclass(frozen=True)
class Environment:
    """One SDK with one peer, or with us."""

    sdk: str
    peer: str | None = None

    @property
    def name(self) -> str:
        return f"bench-{self.peer or 'ours'}-mcp{self.sdk}"


class Environments(Protocol):
    sdks: tuple[str, ...]

    def python(self, environment: Environment) -> str:
        """Its interpreter.

        Raises:
            Unavailable: it cannot be had.
        """


class Made:
    """Environments made for the purpose, with the newest Python at hand and the wheel of the tree as it is now."""

    sdks = SDKS

    def __init__(self) -> None:
        found = pythons.at_hand()
        if not found:
            raise SystemExit("No Python 3.10 to 3.13 with venv found; on Debian: apt-get install python3-venv")
        self._interpreter = found[max(found)]
        self._wheel: Path | None = None
        self._known: dict[Environment, str | Unavailable] = {}

    def python(self, environment: Environment) -> str:
        if environment not in self._known:
            self._known[environment] = self._make(environment)
        known = self._known[environment]
        if isinstance(known, Unavailable):
            raise known
        return known

    def _make(self, environment: Environment) -> str | Unavailable:
        if _ONLY.get(environment.peer or "", environment.sdk) != environment.sdk:
            return Unavailable(f"needs mcp {_ONLY[environment.peer or '']}")
        print(f"preparing {environment.name}", file=sys.stderr, flush=True)
        try:
            return program(self._peer(environment) if environment.peer else self._ours(environment), "python")
        except subprocess.CalledProcessError as broken:
            lines = [line for line in f"{broken.stderr}".splitlines() if line.startswith("ERROR")] or [str(broken)]
            return Unavailable(f"cannot be installed: {lines[0][:_REASON_LENGTH]}")

    def _ours(self, environment: Environment) -> Path:
        self._wheel = self._wheel or build_wheel(self._interpreter)
        wanted = [f"mcp=={environment.sdk}.*", f"{self._wheel}[instruments]"]
        folder = prepare(ENVS / environment.name, self._interpreter, wanted)
        # The version stays the same while the code changes, so pip would keep what it has.
        pip(folder, ["--force-reinstall", "--no-deps", str(self._wheel)])
        return folder

    def _peer(self, environment: Environment) -> Path:
        wanted = [f"mcp=={environment.sdk}.*", PEERS[environment.peer or ""], "opentelemetry-sdk>=1.43"]
        return prepare(ENVS / environment.name, self._interpreter, wanted)


class Here:
    """The environment that this very Python runs in, and no peer: for the tests, which have one already."""

    def __init__(self) -> None:
        from importlib.metadata import version

        self.sdks = (".".join(version("mcp").split(".")[:2]),)

    def python(self, environment: Environment) -> str:
        if environment.peer is not None:
            raise Unavailable("not in this environment")
        return sys.executable
