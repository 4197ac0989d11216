"""The misbehaving server as a process, over HTTP or as parameters for a stdio client.

server = servers.http(Fault("status", 401, after=3))
async with client_session(server.target) as session: ...
assert server.counts()["tools"]["echo"]["result"] == 3
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from harness.package import environment, path_entry
from otel_mcp._demo.server.counts import total
from otel_mcp._demo.server.faults import Fault
from otel_mcp._demo.server.options import Options, arguments

__all__ = ["Fault", "HttpServer", "Options", "Servers", "StdioServer", "servers_in"]

MODULE = "otel_mcp._demo.faulty"


@dataclass(frozen=True)
class _Counting:
    folder: Path

    def counts(self) -> dict[str, Any]:
        """What all processes of this server have counted so far, summed; ``spawns`` says how many there were."""
        return total(sorted(self.folder.glob("[!.]*.json")))

    def asked(self, tool: str) -> int:
        """How many calls of a tool it has received so far."""
        asked: int = self.counts().get("tools", {}).get(tool, {}).get("asked", 0)
        return asked


@dataclass(frozen=True)
class StdioServer(_Counting):
    """A server that its client starts; ``target`` goes to ``client_session`` or ``stdio_client``."""

    target: StdioServerParameters


@dataclass(frozen=True)
class HttpServer(_Counting):
    """A running server; ``target`` is its ``/mcp`` URL, ``sse`` that of the older transport, ``base`` without path."""

    target: str
    process: subprocess.Popen[str]
    options: Options

    @property
    def base(self) -> str:
        return self.target.removesuffix("/mcp")

    @property
    def sse(self) -> str:
        return f"{self.base}/sse"

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def kill(self) -> None:
        """The process is gone without a word, as in a crash."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Servers:
    """Starts servers and ends those that still run when the test is over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = itertools.count(1)
        self._running: list[HttpServer] = []

    def stdio(self, *faults: Fault, **options: Any) -> StdioServer:
        """``options``: the fields of ``Options``."""
        folder, chosen = self._prepare(faults, options)
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", MODULE, *arguments(chosen)], env=path_entry() or None
        )
        return StdioServer(folder, parameters)

    def http(self, *faults: Fault, **options: Any) -> HttpServer:
        """Returns when the server listens. ``options``: the fields of ``Options``; ``port=0`` is a free one."""
        folder, chosen = self._prepare(faults, {"http": True, **options})
        return self._start(folder, chosen)

    def restart(self, server: HttpServer) -> HttpServer:
        """A new process of the same server on the same port; the old one is killed if it still runs."""
        server.kill()
        return self._start(server.folder, replace(server.options, port=server.port))

    def close(self) -> None:
        for server in self._running:
            server.kill()

    def _prepare(self, faults: tuple[Fault, ...], options: dict[str, Any]) -> tuple[Path, Options]:
        folder = self._folder / f"server-{next(self._number)}"
        folder.mkdir()
        return folder, Options(faults=faults, count_file=str(folder / "{pid}.json"), **options)

    def _start(self, folder: Path, options: Options) -> HttpServer:
        command = [sys.executable, "-m", MODULE, *arguments(options)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(f"the server ended before it listened, exit code {process.wait()}: {command}")
        server = HttpServer(folder, address, process, options)
        self._running.append(server)
        return server


@contextlib.contextmanager
def servers_in(folder: Path) -> Iterator[Servers]:
    """``Servers`` outside a fixture: for benchmarks and for modules that share one server."""
    servers = Servers(folder)
    try:
        yield servers
    finally:
        servers.close()
