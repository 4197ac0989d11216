"""Four things that go wrong in Hermes Agent, and what an operator sees of them while they do.

    pip install 'hermes-agent[mcp]==0.19.0' otel-mcp-client
    python examples/hermes/story.py                  # all four, about 80 seconds
    python examples/hermes/story.py rejected death   # some of them
    python examples/hermes/story.py --out seen       # and keep what was seen as files

Each act is a process of its own, started by ``otel-mcp run``: an unchanged Hermes with real MCP servers.
"""

from __future__ import annotations

import argparse
import json
import os
import queue as queues
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("acts.py")
PATIENCE = 120.0
"""Seconds for one act; the longest takes 50."""
Line = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """One act: when to look, and which lines of the scrape to show."""

    name: str
    title: str
    moment: Callable[[str, list[Line]], bool]
    """From the scrape and the call log: whether it is happening now."""
    metrics: tuple[str, ...]


def value(scrape: str, name: str, *labels: str) -> float:
    """The sum of the samples of that name that carry all these labels."""
    found = 0.0
    for line in scrape.splitlines():
        if line.startswith(name + "{") and all(label in line for label in labels):
            found += float(line.rpartition(" ")[2])
    return found


def waiting(log: list[Line], **fields: Any) -> bool:
    """Whether the log has a `still_waiting` line with these fields."""
    return any(line["event"] == "still_waiting" and fields.items() <= line.items() for line in log)


ACTS = (
    Act(
        "rejected",
        "Three rejected arguments open the breaker of a healthy server",
        lambda scrape, _: value(scrape, "otel_mcp_client_breaker_state", 'state="open"') == 1,
        ("otel_mcp_client_breaker_strikes_total", "otel_mcp_client_breaker_state", "otel_mcp_client_calls_total"),
    ),
    Act(
        "queue",
        "Three slow calls, of which two die of the lock",
        lambda _, log: waiting(log, tool="slow", phase="lock"),
        ("otel_mcp_client_lock_waiting", "otel_mcp_client_call_oldest_age_seconds", "otel_mcp_client_cutoffs_total"),
    ),
    Act(
        "keepalive",
        "A keepalive in the middle of a call tears the session down and leaves the lock held",
        lambda _, log: waiting(log, method="tools/list", phase="lock"),
        (
            "otel_mcp_client_request_active", "otel_mcp_client_lock_waiting",
            "otel_mcp_client_keepalive_duration_seconds_count", "otel_mcp_client_connect_duration_seconds_count",
        ),
    ),
    Act(
        "death",
        "A server's process dies in a call",
        lambda scrape, _: value(scrape, "otel_mcp_client_faults_total", "process_exit") >= 1,
        (
            "otel_mcp_client_faults_total", "otel_mcp_client_retries_total", "otel_mcp_client_connector_state",
            "otel_mcp_client_breaker_strikes_total",
        ),
    ),
)  # fmt: skip


class Stage:
    """One act's process, its endpoint and its call log."""

    def __init__(self, act: Act, folder: Path) -> None:
        self._act = act
        self._folder = folder
        self._log = folder / f"{act.name}.jsonl"
        self._log.unlink(missing_ok=True)
        self._port = _free_port()
        self._said: queues.Queue[str] = queues.Queue()
        environment = {
            **os.environ,
            "OTEL_MCP_CALL_LOG": str(self._log),
            "OTEL_MCP_STILL_WAITING": "1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(self._port),
            "OTEL_SERVICE_NAME": "hermes",
        }
        command = [sys.executable, "-m", "otel_mcp", "run", "--", sys.executable, str(PROGRAM), act.name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        for line in self._process.stdout:
            self._said.put(line.rstrip())
        self._said.put("ended")

    def play(self) -> bool:
        """Relay the agent, look while it happens and when it is over; false if the agent did not get through."""
        print(f"\n=== {self._act.name}: {self._act.title}\n")
        looked = False
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            line = self._next()
            if line in ("done", "ended"):
                break
            if line is not None:
                print(f"  agent   {line}")
            if not looked and self._happening():
                looked = True
                self._look("while it happens")
        through = line == "done" and looked
        if through:
            self._look("afterwards")
        self._leave()
        for entry in self._entries():
            print(f"  log     {_short(entry)}")
        return through

    def _next(self) -> str | None:
        try:
            return self._said.get(timeout=0.2)
        except queues.Empty:
            return None

    def _happening(self) -> bool:
        return self._act.moment(self._scrape(), self._entries())

    def _look(self, when: str) -> None:
        scrape = self._scrape()
        top = subprocess.run(
            [sys.executable, "-m", "otel_mcp", "top", "--once", str(self._log)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        name = f"{self._act.name}-{when.split()[0]}"
        (self._folder / f"{name}.prom").write_text(scrape, encoding="utf-8")
        (self._folder / f"{name}.top").write_text(top.stdout + top.stderr, encoding="utf-8")
        print(f"\n  {when}")
        for line in scrape.splitlines():
            if line.startswith(self._act.metrics) and not line.endswith(" 0.0"):
                print(f"  metrics {line}")
        for line in (top.stdout + top.stderr).splitlines():
            print(f"  top     {line}")
        print()

    def _scrape(self) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:
            return ""  # its first session has not begun

    def _entries(self) -> list[Line]:
        if not self._log.exists():
            return []
        text = self._log.read_text(encoding="utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def _leave(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_EVERY_LINE = {"schema", "event", "time", "service", "instance", "pid", "version", "connector", "transport"}
_SHOWN = {
    "call": ("tool", "outcome", "error_type", "cause", "elapsed", "attempts", "phase", "sent", "lock_wait",
             "lock_holder", "breaker", "limit", "limit_source", "keepalive_overlap", "retry_unsafe"),
    "still_waiting": ("method", "tool", "phase", "age", "limit", "lock_holder", "retired"),
}  # fmt: skip


def _short(entry: Line) -> str:
    names = _SHOWN.get(entry["event"], tuple(name for name in entry if name not in _EVERY_LINE))
    fields = (f"{name}={_text(entry[name])}" for name in names if entry.get(name) not in (None, False, "", 0.0))
    return f"{entry['event']} {entry['connector']}: {' '.join(fields)}"


def _text(field: Any) -> str:
    return f"{field:.3g}" if isinstance(field, float) else str(field)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def main() -> int:
    """0 if every act was seen through."""
    parser = argparse.ArgumentParser(description="Four things that go wrong in Hermes Agent.")
    names = [act.name for act in ACTS]
    parser.add_argument("acts", nargs="*", help=f"{', '.join(names)}; default: all")
    parser.add_argument("--out", type=Path, help="keep call logs, scrapes and tables in this folder")
    given = parser.parse_args()
    unknown = [name for name in given.acts if name not in names]
    if unknown:
        parser.error(f"there is no act {unknown[0]!r}; there are {', '.join(names)}")
    folder = given.out or Path(tempfile.mkdtemp(prefix="hermes-story-"))
    folder.mkdir(parents=True, exist_ok=True)
    played = [Stage(act, folder).play() for act in ACTS if not given.acts or act.name in given.acts]
    return 0 if all(played) else 1


if __name__ == "__main__":
    sys.exit(main())
