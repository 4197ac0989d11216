"""The demo's connectors: one server of each fault, and what the agent does with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import otel_mcp
from otel_mcp._demo.server.counts import total
from otel_mcp._demo.server.options import Options, arguments

SERVER_MODULE = "otel_mcp._demo.faulty"


@dataclass(frozen=True)
class Job:
    """One call that the agent makes again and again; ``every`` and ``limit`` in seconds."""

    tool: str
    every: float
    limit: float | None
    arguments: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"tool": self.tool, "arguments": self.arguments, "every": self.every, "limit": self.limit}


@dataclass(frozen=True)
class Role:
    """One connector of the demo."""

    name: str
    plot: str
    jobs: tuple[Job, ...]
    http: bool = False


CAST = (
    Role("files", "healthy", (Job("echo", 1.0, 10.0, {"text": "report.pdf"}),)),
    Role(
        "search",
        "slow at times",
        (
            Job("late", 0.7, 2.0, {"seconds": 0.2}),
            Job("late", 0.7, 2.0, {"seconds": 0.4}),
            *(Job("late", 0.7, 2.0, {"seconds": seconds}) for seconds in (0.3, 2.6)),
        ),
        http=True,
    ),
    Role("crm", "hangs", (Job("echo", 1.0, 4.0, {"text": "customer 17"}), Job("hang", 1.0, 4.0))),
    Role("billing", "hangs, no limit", (Job("echo", 3.0, None), Job("hang", 1.0, None))),
    Role(
        "calendar",
        "rejects",
        (Job("echo", 1.5, 10.0, {"text": "today"}), Job("reject", 1.5, 10.0, {"date": "31/12/2026"})),
        http=True,
    ),
    Role("builds", "dies", (Job("echo", 1.0, 10.0), Job("echo", 1.0, 10.0), Job("die", 1.0, 10.0, {"code": 3}))),
)

CAREFUL = (
    Role("crm-careful", "hangs, breaker", (Job("echo", 0.5, None), *[Job("hang", 0.5, None)] * 5)),
    Role("builds-careful", "dies, reconnects", (Job("echo", 1.0, None), Job("die", 1.0, None, {"code": 3}))),
)
"""The connectors of the second agent, which stands behind `otel_mcp.resilience`."""


@dataclass(frozen=True)
class Stage:
    """The servers as the agent and the demo see them."""

    folder: Path
    urls: dict[str, str]

    def config(self, cast: tuple[Role, ...] = CAST) -> dict[str, Any]:
        """An agent's configuration file."""
        return {"mcpServers": {role.name: {**self._target(role), **_jobs(role)} for role in cast}}

    def connectors(self) -> str:
        """``OTEL_MCP_CONNECTORS``: what we call each of them; only the demo's servers all run the same program."""
        globs = {role.name: f"{self.urls[role.name]}*" if role.http else f"*--name {role.name} *" for role in CAST}
        return ";".join(f"{name}={glob}" for name, glob in globs.items())

    def counts(self, name: str) -> dict[str, Any]:
        """What the server called ``name`` counted itself, over all its processes."""
        return total(sorted(self.folder.glob(f"{name}.[0-9]*.json")))

    def _target(self, role: Role) -> dict[str, Any]:
        if role.http:
            return {"url": self.urls[role.name]}
        return {"command": sys.executable, "args": server_command(role, self.folder)[1:], "env": import_path()}


def _jobs(role: Role) -> dict[str, Any]:
    return {"jobs": [job.as_json() for job in role.jobs]}


def server_command(role: Role, folder: Path) -> list[str]:
    options = Options(name=role.name, http=role.http, count_file=str(folder / f"{role.name}.{{pid}}.json"))
    return [sys.executable, "-m", SERVER_MODULE, *arguments(options)]


def import_path() -> dict[str, str]:
    """What a child needs in its environment to import this very package."""
    return {"PYTHONPATH": str(Path(next(iter(otel_mcp.__path__))).parent)}


@contextmanager
def staged(folder: Path, environment: dict[str, str]) -> Iterator[Stage]:
    """Starts the HTTP servers, which outlive their clients; the agent starts those on stdio itself."""
    with ExitStack() as stack:
        urls = {}
        for role in CAST:
            if role.http:
                with deaf_to_ctrl_c():
                    process = subprocess.Popen(
                        server_command(role, folder), stdout=subprocess.PIPE, text=True, env=environment
                    )
                stack.callback(_end, process)
                urls[role.name] = _address(process)
        stage = Stage(folder, urls)
        (folder / "agent.json").write_text(json.dumps(stage.config(), indent=2))
        (folder / "careful_agent.json").write_text(json.dumps(stage.config(CAREFUL), indent=2))
        yield stage


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """What is started in the block ignores Ctrl-C: the demo ends it, and its traceback would be no news to anybody.

    It stays in the terminal's process group, so it goes with the terminal.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a child inherits what is ignored, and no handler
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _address(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline().strip() if process.stdout is not None else ""
    if not line:
        raise RuntimeError(f"a server of the demo ended at its start, exit code {process.wait()}")
    return line


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
