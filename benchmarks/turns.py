"""Processes that take turns: how several ways of doing one thing are compared on a machine that does other things too.

Each subject lives in a process of its own, so that none patches another's classes, and all of them stand ready before
the first turn. A turn is a few calls; the turns go round, so that whatever else the machine does meets all alike. What
counts of a subject is the lower quartile of its turns.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import IO


class Subject:
    """A process that does `calls` calls whenever it is told to, and says what one cost."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.turns: list[float] = []
        self._process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.about = self._line()
        """What the subject said of itself when it was ready."""

    def turn(self, calls: int) -> float:
        """Let it do this many calls; microseconds of processor time a call."""
        pipe: IO[str] | None = self._process.stdin
        assert pipe is not None
        pipe.write(f"{calls}\n")
        pipe.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with exit code {self._process.wait()}")
        return line.strip()

    @property
    def cost(self) -> float:
        """Microseconds a call: the lower quartile of the turns."""
        return statistics.quantiles(self.turns)[0]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def subjects(commands: dict[str, Sequence[str]]) -> Iterator[dict[str, Subject]]:
    """Start all of them; ended when the block is left."""
    ready: dict[str, Subject] = {}
    try:
        for name, command in commands.items():
            ready[name] = Subject(name, command)
        yield ready
    finally:
        for subject in ready.values():
            subject.stop()


def go_round(ready: dict[str, Subject], rounds: int, calls: int, warm_up: int = 300) -> None:
    """`rounds` turns of `calls` calls for each; the first `warm_up` calls of each do not count."""
    for subject in ready.values():
        subject.turn(warm_up)
    for number in range(rounds):
        for subject in ready.values():
            subject.turns.append(subject.turn(calls))
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
