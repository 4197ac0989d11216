"""What is open now, read from a call log that grows."""

from __future__ import annotations

import itertools
import json
import os
import stat
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from otel_mcp._cli.top_model import Picture, Row, Unreadable
from otel_mcp._ground import names as n
from otel_mcp._ground.settings import Settings
from otel_mcp._report import files
from otel_mcp._report.errors import nothing_of_ours
from otel_mcp._start.targets import is_alive

_LARGEST: Final = 1e15
"""A number beyond it, or one that is none, is no age and no id."""
_FLUSHED: Final = 2.0
"""Seconds: lines stand in the log within one of their being told, and its writer may be slow."""
_YEAR_2200: Final = 7_258_118_400
_LARGEST_PID: Final = 2**31
"""Beyond it the operating system cannot be asked."""


class Log:
    """A call log. It knows single calls, from the moment they were reported as still waiting.

    `path` may have ``{pid}`` and ``{date}`` in it, as `OTEL_MCP_CALL_LOG` may: then it is all files of that name.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._tails: dict[str, _Tail] = {}
        self._open: dict[tuple[Any, ...], tuple[float, dict[str, Any]]] = {}
        self._lines = 0
        self._is_a_log = False

    def look(self) -> Picture:
        """Read what was written since the last look. Raises Unreadable, also for a file that is no call log."""
        tails = self._files()
        for line in itertools.chain.from_iterable(tail.new_lines() for tail in tails):
            self._lines += 1
            self._read(line)
        self._check(sum(tail.unfinished for tail in tails))
        moment = time.time()
        self._forget_silent(moment)
        rows = tuple(sorted((_row(*told, moment) for told in self._open.values()), key=lambda row: -row.age))
        calls, silent = sum(row.id is not None for row in rows), sum(row.silent for row in rows)
        return Picture(self.path, rows, calls=calls - silent, requests=len(rows) - calls, silent=silent)

    def _files(self) -> list[_Tail]:
        """In the order of their names, so that of a process with a file for each day the days come in their order."""
        there = [] if Path(self.path).exists() else files.matches(files.written_by(self.path))
        return [self._tails.setdefault(path, _Tail(path)) for path in there or [self.path]]

    def _read(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            return  # torn or foreign: the report counts these, here they would only flicker
        if isinstance(entry, dict):
            self._is_a_log = self._is_a_log or _is_of_a_log(entry)
            self._take(_known(entry))

    def _check(self, unfinished: int) -> None:
        lines = self._lines + unfinished
        if lines and not self._is_a_log:
            raise Unreadable(nothing_of_ours(self.path, lines))

    def _take(self, entry: dict[str, Any]) -> None:
        event = entry.get("event")
        key: tuple[Any, ...] = (entry.get("instance"), entry.get("id"))
        if event == "still_waiting":
            if entry.get("id") is None:
                key = (entry.get("instance"), entry.get("connector"), entry.get("method"), entry.get("generation"))
            self._open[key] = (_moment(entry.get("time")) or time.time(), entry)
        elif event == "call":
            self._open.pop(key, None)
        elif event in {"session_end", "connect"}:
            # A request that belongs to no call ends with its session's handshake, or with the session.
            name, generation = entry.get("connector"), entry.get("generation")
            for other in [k for k in self._open if len(k) == 4 and k[1] == name and k[3] == generation]:
                del self._open[other]

    def _forget_silent(self, moment: float) -> None:
        """What belongs to no call has no line at its end: it is over if it was not told of again at twice its age."""
        for key, (seen, entry) in list(self._open.items()):
            if entry.get("id") is None and moment - seen > float(entry.get("age") or 0.0) + _FLUSHED:
                del self._open[key]


class _Tail:
    """One file: what was written to it since it was read last, from the beginning again once it was rotated."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        self._rest = b""
        self._inode: int | None = None

    @property
    def unfinished(self) -> bool:
        """Whether the last line has no end yet."""
        return bool(self._rest)

    def new_lines(self) -> list[bytes]:
        """Whole lines without their ends. Raises Unreadable."""
        try:
            if not stat.S_ISREG(Path(self._path).stat().st_mode):  # to open a named pipe waits for its writer
                raise Unreadable(f"{self._path} is no regular file; name a call log")
            with Path(self._path).open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                size = file.seek(0, 2)
                if inode != self._inode or size < self._position:
                    self._position, self._rest, self._inode = 0, b"", inode  # rotated
                file.seek(self._position)
                data = self._rest + file.read()
                self._position = file.tell()
        except OSError as error:
            raise Unreadable(f"the call log {self._path} cannot be read ({error.strerror})") from error
        *lines, self._rest = data.split(b"\n")
        return lines


_TEXTS: Final = (
    "event", "time", "id", "instance", "connector", "method", "tool", "phase", "limit_source", "lock_holder", "held_by",
    "blocked_at",
)  # fmt: skip
_NUMBERS: Final = ("id", "pid", "generation", "age", "limit")


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    """What a line says in the types that it should have; anybody may have written it."""
    texts = {name: value for name in _TEXTS if isinstance(value := entry.get(name), str)}
    numbers = {
        name: value for name in _NUMBERS if isinstance(value := entry.get(name), (int, float)) and abs(value) < _LARGEST
    }
    return {**texts, **numbers, "retired": entry.get("retired"), "loop_blocked": entry.get("loop_blocked")}


def _row(seen: float, entry: dict[str, Any], moment: float) -> Row:
    since = max(moment - seen, 0.0)
    silent = entry.get("id") is not None and since > _until_due(entry) + _FLUSHED
    notes = []
    if entry.get("retired"):
        notes.append("retired session")
    if entry.get("loop_blocked"):
        notes.append(f"loop blocked at {entry.get('blocked_at') or '?'}")
    if entry.get("held_by"):
        notes.append(f"held by {entry['held_by']}")
    if _is_gone(entry.get("pid")):
        notes.append(f"no process {entry['pid']} here")
    if silent:
        notes.append(f"not heard of since {_clock(seen, moment)}")
    return Row(
        entry.get("connector") or n.UNKNOWN,
        entry.get("method"),
        entry.get("tool"),
        entry.get("phase"),
        float(entry.get("age") or 0.0) + since,
        entry.get("limit"),
        entry.get("limit_source"),
        entry.get("lock_holder"),
        note="; ".join(notes) or None,
        id=entry.get("id"),
        silent=silent,
    )


def _until_due(entry: dict[str, Any]) -> float:
    """Seconds from a line to the next one on the same call, at most: they come at doubling ages.

    The line of a session's teardown comes at any age, and the next one when the first would have been due.
    """
    age = max(float(entry.get("age") or 0.0), 0.0)
    return max(age, Settings.still_waiting - age) if entry.get("retired") else age


def _is_gone(pid: Any) -> bool:
    """Whether there is no such process here. A log says nothing of its machine: the process may be on another one."""
    return isinstance(pid, int) and 0 < pid < _LARGEST_PID and not is_alive(pid)


def _clock(seen: float, moment: float) -> str:
    """The time in UTC, as the log has it, with the day if it was another one."""
    then, today = (datetime.fromtimestamp(each, timezone.utc) for each in (seen, moment))
    return f"{then:%H:%M} UTC" if then.date() == today.date() else f"{then:%Y-%m-%d %H:%M} UTC"


def _is_of_a_log(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("event"), str) and _moment(entry.get("time")) is not None


def _moment(text: Any) -> float | None:
    """Seconds since 1970, None where that is no time, or one in which no log is written."""
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None
    return moment if 0 <= moment < _YEAR_2200 else None
