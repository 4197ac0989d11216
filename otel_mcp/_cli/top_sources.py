"""What is open now, read from a scrape endpoint or from a call log that grows."""

from __future__ import annotations

import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n

_TIMEOUT: Final = 5.0
"""Seconds for a scrape; an endpoint on this machine answers in milliseconds."""

_LARGEST: Final = 1e15
"""A number beyond it, or one that is none, is no age and no id."""
_FLUSHED: Final = 2.0
"""Seconds: lines stand in the log within one of their being told, and its writer may be slow."""


class Unreadable(Exception):
    """The source cannot be read; the text says which, why, and what to do."""


@dataclass(frozen=True)
class Row:
    """One thing that is open. Times in seconds, None = unknown."""

    connector: str
    method: str | None
    tool: str | None
    phase: str | None
    age: float
    limit: float | None
    limit_source: str | None
    holder: str | None
    state: str | None = None
    count: int | None = None
    note: str | None = None
    id: int | str | None = None


@dataclass(frozen=True)
class Picture:
    """Everything that is open at one moment, oldest first, and the connectors' states where they are known."""

    source: str
    rows: tuple[Row, ...]
    states: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As `otel-mcp top --json` prints it."""
        return {"source": self.source, "open": [asdict(row) for row in self.rows], "connectors": self.states}


class Source(Protocol):
    """Looks again each time it is asked."""

    def look(self) -> Picture:
        """What is open now. Raises Unreadable."""


class Endpoint:
    """A `/metrics` endpoint. It knows connectors, phases and methods, but no single call: labels are bounded."""

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else f"http://{url}"
        if self.url.count("/") < 3:
            self.url += "/metrics"

    def look(self) -> Picture:
        """One scrape."""
        gauges = _Gauges(self._fetch(), self.url)
        rows = [*gauges.calls(), *gauges.requests()]
        return Picture(self.url, tuple(sorted(rows, key=lambda row: -row.age)), gauges.states())

    def _fetch(self) -> str:
        if not self.url.startswith(("http://", "https://")):
            raise Unreadable(f"{self.url} is not an http or https address")
        try:
            with urllib.request.urlopen(self.url, timeout=_TIMEOUT) as answer:  # noqa: S310 - checked above
                text: str = answer.read().decode("utf-8", "replace")
                return text
        except (OSError, urllib.error.URLError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unreadable(
                f"{self.url} does not answer ({reason}); is the watched program running, and is this its endpoint?"
            ) from error


class _Gauges:
    def __init__(self, text: str, url: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        wanted = {row.prometheus for row in (c.CALL_OLDEST_AGE, c.REQUEST_OLDEST_AGE, c.REQUEST_ACTIVE, c.LIMIT,
                                             c.CONNECTOR_STATE, c.LOCK_WAITING, c.CALL_OVERDUE, c.HOOKS)}  # fmt: skip
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        try:
            for family in text_string_to_metric_families(text):
                if family.name in wanted:
                    samples = [(_whole(sample.labels), float(sample.value)) for sample in family.samples]
                    self._samples[family.name] = [sample for sample in samples if math.isfinite(sample[1])]
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # the parser's, for what is no metrics
            raise Unreadable(f"{url} does not serve Prometheus metrics ({error})") from error
        if not self._samples:
            raise Unreadable(f"{url} serves no metrics of otel_mcp; is it another program's endpoint?")

    def _of(self, row: c.Instrument) -> list[tuple[dict[str, str], float]]:
        return self._samples.get(row.prometheus, [])

    def _by_connector(self, row: c.Instrument) -> dict[str, float]:
        return {labels[_CONNECTOR]: value for labels, value in self._of(row)}

    def states(self) -> dict[str, str]:
        return {labels[_CONNECTOR]: labels[_label(n.STATE)] for labels, value in self._of(c.CONNECTOR_STATE) if value}

    def calls(self) -> Iterator[Row]:
        limits, overdue, waiting = (self._by_connector(row) for row in (c.LIMIT, c.CALL_OVERDUE, c.LOCK_WAITING))
        states = self.states()
        for labels, age in self._of(c.CALL_OLDEST_AGE):
            if age > 0:
                name, phase = labels[_CONNECTOR], labels[_label(n.PHASE)]
                limit = limits.get(name)
                note = "overdue" if overdue.get(name) else None
                count = int(waiting.get(name, 0)) if phase == "lock" else None
                yield Row(name, None, None, phase, age, limit or None, None, None, states.get(name), count, note)

    def requests(self) -> Iterator[Row]:
        active = {_pair(labels): int(value) for labels, value in self._of(c.REQUEST_ACTIVE)}
        states = self.states()
        for labels, age in self._of(c.REQUEST_OLDEST_AGE):
            name, method = _pair(labels)
            if age > 0:
                yield Row(name, method, None, None, age, None, None, None, states.get(name), active.get((name, method)))


def _label(attribute: str) -> str:
    return attribute.replace(".", "_")


_CONNECTOR: Final = _label(n.CONNECTOR)
_LABELS: Final = (_CONNECTOR, _label(n.STATE), _label(n.PHASE), _label(n.MCP_METHOD_NAME))


def _whole(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, with those that a foreign endpoint has left out."""
    return {**dict.fromkeys(_LABELS, n.UNKNOWN), **labels}


def _pair(labels: dict[str, str]) -> tuple[str, str]:
    return labels[_CONNECTOR], labels[_label(n.MCP_METHOD_NAME)]


class Log:
    """A call log. It knows single calls, from the moment they were reported as still waiting."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._open: dict[tuple[Any, ...], tuple[float, dict[str, Any]]] = {}
        self._position = 0
        self._rest = b""
        self._inode: int | None = None

    def look(self) -> Picture:
        """Read what was written since the last look."""
        for line in self._new_lines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # torn or foreign: the report counts these, here they would only flicker
            if isinstance(entry, dict):
                self._take(_known(entry))
        moment = time.time()
        self._forget_silent(moment)
        rows = [_row(entry, moment - seen) for seen, entry in self._open.values()]
        return Picture(self.path, tuple(sorted(rows, key=lambda row: -row.age)))

    def _new_lines(self) -> list[bytes]:
        try:
            with Path(self.path).open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                size = file.seek(0, 2)
                if inode != self._inode or size < self._position:
                    self._position, self._rest, self._inode = 0, b"", inode  # rotated
                file.seek(self._position)
                data = self._rest + file.read()
                self._position = file.tell()
        except OSError as error:
            raise Unreadable(f"the call log {self.path} cannot be read ({error.strerror})") from error
        *lines, self._rest = data.split(b"\n")
        return lines

    def _take(self, entry: dict[str, Any]) -> None:
        event = entry.get("event")
        key: tuple[Any, ...] = (entry.get("instance"), entry.get("id"))
        if event == "still_waiting":
            if entry.get("id") is None:
                key = (entry.get("instance"), entry.get("connector"), entry.get("method"), entry.get("generation"))
            self._open[key] = (_seconds(entry.get("time")), entry)
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


_TEXTS: Final = (
    "event", "time", "id", "instance", "connector", "method", "tool", "phase", "limit_source", "lock_holder", "held_by",
    "blocked_at",
)  # fmt: skip
_NUMBERS: Final = ("id", "generation", "age", "limit")


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    """What a line says in the types that it should have; anybody may have written it."""
    texts = {name: value for name in _TEXTS if isinstance(value := entry.get(name), str)}
    numbers = {
        name: value for name in _NUMBERS if isinstance(value := entry.get(name), (int, float)) and abs(value) < _LARGEST
    }
    return {**texts, **numbers, "retired": entry.get("retired"), "loop_blocked": entry.get("loop_blocked")}


def _row(entry: dict[str, Any], since: float) -> Row:
    notes = []
    if entry.get("retired"):
        notes.append("retired session")
    if entry.get("loop_blocked"):
        notes.append(f"loop blocked at {entry.get('blocked_at') or '?'}")
    if entry.get("held_by"):
        notes.append(f"held by {entry['held_by']}")
    return Row(
        entry.get("connector") or n.UNKNOWN,
        entry.get("method"),
        entry.get("tool"),
        entry.get("phase"),
        float(entry.get("age") or 0.0) + max(since, 0.0),
        entry.get("limit"),
        entry.get("limit_source"),
        entry.get("lock_holder"),
        note="; ".join(notes) or None,
        id=entry.get("id"),
    )


def _seconds(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return time.time()
