"""Processes that take turns: how several ways of doing one thing are compared on a machine that does other things too.

Each subject lives in a process of its own, so that none patches another's classes, and all of them stand ready before
the first turn. A turn is a few calls; the turns go round, so that whatever else the machine does meets all alike. What
counts of a subject is the lower quartile of its turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUBJECTS = Path(__file__).parent / "subjects"
PATIENCE = 120.0
"""Seconds without an answer after which a subject is given up."""

_REASON_LENGTH = 160


class Failed(Exception):
    """A subject that ended or fell silent; the text is its last word."""


@dataclass(frozen=True)
class Command:
    """A script below `subjects/`, with its arguments, the Python that runs it and variables of its own."""

    python: str
    script: str
    arguments: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


class Subject:
    """A running script that answers each question with one line of JSON."""

    def __init__(self, command: Command) -> None:
        self.turns: list[float] = []
        self.turns_of_all_threads: list[float] = []
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `stop`
        self._process = subprocess.Popen(
            [command.python, str(SUBJECTS / command.script), *command.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**clean_environment(), **command.variables},
        )

    def ask(self, question: Any) -> Any:
        """Its answer.

        Raises:
            Failed: it has none.
        """
        self.tell(question)
        return self.listen()

    def tell(self, question: Any) -> None:
        """Asks without waiting for the answer; `listen` gives it."""
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(question), file=self._process.stdin, flush=True)

    def listen(self) -> Any:
        """What it says next, without being asked."""
        assert self._process.stdout is not None
        heard, *_ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if heard else ""
        if not line:
            raise Failed(self._last_word() if heard else f"no answer within {PATIENCE:.0f} s")
        return json.loads(line)

    def _last_word(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        return last_word(self._errors) or f"exit code {code}"

    @property
    def cost(self) -> float:
        """The lower quartile of its turns."""
        return lower_quartile(self.turns)

    def end(self) -> None:
        """Let it end by itself, as a program does."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def last_word(said: Iterable[str]) -> str:
    """The last line that says something, short and without this machine's folders; empty if none does."""
    lines = [line.strip() for line in said if line.strip()]
    return lines[-1].replace(str(SUBJECTS.parents[1]), ".")[:_REASON_LENGTH] if lines else ""


def lower_quartile(figures: list[float]) -> float:
    """What counts of figures that something else on the machine may have made larger, and never smaller."""
    return statistics.quantiles(figures)[0] if len(figures) > 1 else figures[0]


def clean_environment() -> dict[str, str]:
    """This process's variables without those that would turn something on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DD_", "FASTMCP_"))}


@contextlib.contextmanager
def subjects(commands: Mapping[str, Command]) -> Iterator[tuple[dict[str, Subject], dict[str, str]]]:
    """Starts all of them; those that are ready, and why the others are not. Ended when the block is left."""
    started = {name: Subject(command) for name, command in commands.items()}
    ready: dict[str, Subject] = {}
    failed: dict[str, str] = {}
    try:
        for name, subject in started.items():
            try:
                subject.listen()
                ready[name] = subject
            except Failed as failure:
                failed[name] = str(failure)
        yield ready, failed
    finally:
        for subject in started.values():
            subject.stop()


def go_round(ready: Mapping[str, Subject], rounds: int, calls: int, warm_up: int) -> None:
    """`rounds` turns of `calls` calls for each; the first `warm_up` calls of each do not count.

    A subject answers with the processor time of its event loop's thread, and of all its threads.
    """
    for subject in ready.values():
        subject.ask(warm_up)
    for number in range(rounds):
        for subject in ready.values():
            loop, process = subject.ask(calls)
            subject.turns.append(loop)
            subject.turns_of_all_threads.append(process)
        progress(f"round {number + 1} of {rounds}")
    progress()


def progress(text: str = "") -> None:
    """What is being done, on one line of a terminal; without a text the line is cleared."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
