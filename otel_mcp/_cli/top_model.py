"""What `otel-mcp top` shows, as data, and what a source of it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Protocol


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
    silent: bool = False
    """Another line on it was due and did not come: its process may have been killed."""


@dataclass(frozen=True)
class Picture:
    """Everything that is open at one moment, oldest first, and the connectors' states where they are known.

    `calls` counts the calls that are open, or is the least that there are where `at_least` says so: an endpoint does
    not count those in every phase. `requests` counts the requests that belong to none of them, `silent` the calls of
    which nobody knows whether they still are.
    """

    source: str
    rows: tuple[Row, ...]
    states: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    requests: int = 0
    silent: int = 0
    at_least: bool = False

    def to_json(self) -> dict[str, Any]:
        """As `otel-mcp top --json` prints it."""
        return {
            "source": self.source,
            "open": [asdict(row) for row in self.rows],
            "connectors": self.states,
            "calls": self.calls,
            "requests": self.requests,
            "silent": self.silent,
        }


class Source(Protocol):
    """Looks again each time it is asked."""

    def look(self) -> Picture:
        """What is open now. Raises Unreadable."""
