"""The program run twice at the same time, without us and with us, and what is left of either afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from faults.rows import ENTRY

from harness.children import LONG_ENOUGH, events
from harness.package import environment, path_entry
from harness.real_parts import free_port
from harness.servers import MODULE, Options
from harness.waiting import wait_for
from otel_mcp._demo.server.options import arguments
from unchanged.ways import ON, plain, start_file

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = str(TESTS / "faults" / "program.py")


Start = Callable[[list[str]], list[str]]


class Agent:
    """One run of the program."""

    def __init__(
        self, folder: Path, scenes: Sequence[str], start: Start, env: dict[str, str], config: dict[str, Any]
    ) -> None:
        folder.mkdir()
        self.folder = folder
        self.port = free_port()
        self.log = Path(env.get("OTEL_MCP_CALL_LOG", folder / "calls.jsonl"))
        self.targets = folder / "targets"
        self.targets.mkdir()
        (folder / "counts").mkdir()
        file = folder / "config.json"
        file.write_text(json.dumps({"server": self._server(), **config}))
        variables = {"PYTHONPATH": ":".join([str(TESTS), *path_entry().values()]), **env}
        if start is not plain:
            rules = ";".join(f"{scene}=*--name {scene}*" for scene in scenes)
            variables = {
                "OTEL_MCP_CALL_LOG": str(self.log),
                "OTEL_MCP_TARGETS": str(self.targets),
                "OTEL_MCP_CONNECTORS": rules,
                "OTEL_EXPORTER_PROMETHEUS_PORT": str(self.port),
                **ON,
                **variables,
            }
        self._err = (folder / "err").open("w")
        self.process = subprocess.Popen(
            start([PROGRAM, str(file), *scenes]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._err,
            text=True,
            env=environment(**variables),
            start_new_session=True,
        )
        self.said: list[dict[str, Any]] = []
        self._end_told = 0.0
        self._ended = 0.0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _server(self) -> dict[str, Any]:
        options = Options(count_file=str(self.folder / "counts" / "{pid}.json"))
        return {"command": sys.executable, "args": ["-m", MODULE, *arguments(options)], "env": path_entry() or None}

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(json.loads(line))
            if "end" in self.said[-1]:
                self._end_told = time.monotonic()

    # --- while it runs ----------------------------------------------------------------------------------------------
    def await_mark(self, mark: str) -> None:
        """The program has come so far, or has ended before."""
        wait_for(lambda: {"mark": mark} in self.said or self.process.poll() is not None, timeout=LONG_ENOUGH)
        assert {"mark": mark} in self.said, self.err

    def go(self) -> None:
        """Lets it go on from a mark."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def await_lines(self, many: int) -> None:
        """So many calls are in the call log."""
        wait_for(lambda: len(self.lines()) >= many, timeout=LONG_ENOUGH)

    def finish(self) -> None:
        """Waits for its end; closing its input lets it go on from whatever mark it waits at."""
        try:
            self.process.wait(LONG_ENOUGH)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running; said {self.said[-3:]}; {self.err}") from None
        self._ended = time.monotonic()
        self._reader.join(LONG_ENOUGH)

    def close(self) -> None:
        """Nothing of it stays, whatever the test came to."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        for process in self.living():
            process.kill()
        self._reader.join(LONG_ENOUGH)
        for file in (self.process.stdin, self.process.stdout, self._err):
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()

    # --- what came of it ----------------------------------------------------------------------------------------------
    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def exit_seconds(self) -> float:
        """From the program's last word to the end of its process."""
        return self._ended - self._end_told if self._end_told else 0.0

    def told(self, scene: str | None = None) -> list[Any]:
        """What its calls gave, of one scene or of all."""
        found, current = [], None
        for line in self.said:
            current = line.get("scene", current)
            if "call" in line and scene in (None, current):
                found.append(line["call"])
        return found

    def fields(self, name: str) -> list[Any]:
        return [line[name] for line in self.said if name in line]

    def own(self, scene: str) -> list[dict[str, int]]:
        """Threads and descriptors before and after a scene."""
        at = self.said.index({"scene": scene})
        return [line["own"] for line in self.said[at:] if "own" in line][:2]

    def lines(self, scene: str | None = None, event: str = "call") -> list[dict[str, Any]]:
        """The call log's lines of one event."""
        whole = [line for line in self._log() if line is not None]
        return [line for line in events(whole, event) if scene in (None, line["connector"])]

    def torn(self) -> int:
        """Lines of the call log that are cut short."""
        return self._log().count(None)

    def _log(self) -> list[dict[str, Any] | None]:
        return [_parsed(line) for line in self.log.read_text().split("\n")[:-1]] if self.log.exists() else []

    def living(self) -> list[psutil.Process]:
        """Servers and workers of this run that are still there."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != self.process.pid and str(self.folder) in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def left_behind(self) -> list[str]:
        """Processes, a listening port and files that outlive it; a server notices its closed input in a moment."""
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not self.living(), timeout=10)
        left = [f"process {process.name()}" for process in self.living()]
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                left.append("its port is still listened on")
        left += [ENTRY for _ in self.targets.iterdir()]
        known = {"counts", "targets", "config.json", "err", self.log.name}
        return left + [f"file {path.name}" for path in self.folder.iterdir() if path.name not in known]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        parsed: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return parsed


@dataclass
class Pair:
    """The two runs."""

    plain: Agent
    watched: Agent

    def both(self, act: Callable[[Agent], object]) -> None:
        for agent in (self.plain, self.watched):
            act(agent)

    def finish(self) -> None:
        self.both(Agent.finish)
        assert self.watched.process.returncode == self.plain.process.returncode, self.watched.err


@contextlib.contextmanager
def pair(
    folder: Path,
    *scenes: str,
    start: Start = start_file,
    env: dict[str, str] | None = None,
    both_env: dict[str, str] | None = None,
    **config: Any,
) -> Iterator[Pair]:
    """Starts both. ``env`` is for the watched one, ``both_env`` for either, ``config`` goes to the program."""
    folder.mkdir(exist_ok=True)
    shared = both_env or {}
    with contextlib.ExitStack() as stack:

        def started(name: str, how: Start, variables: dict[str, str]) -> Agent:
            agent = Agent(folder / name, scenes, how, variables, config)
            stack.callback(agent.close)
            return agent

        yield Pair(started("plain", plain, shared), started("watched", start, {**shared, **(env or {})}))
