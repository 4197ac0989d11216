"""A connector, with everything that is counted for it: here a deadline becomes a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._ground.outcomes import OUTCOMES, Outcome
from otel_mcp._ledger.model import CONNECTING, LOST, READY, Call, Session


@dataclass(slots=True, eq=False)
class Breaker:
    """A breaker as its owner reports it."""

    state: str = "closed"
    half_open_at: float | None = None
    """When an open breaker's cool-down ends."""
    entered: dict[str, int] = field(default_factory=lambda: dict.fromkeys(n.BREAKER_STATES, 0))
    strikes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(n.STRIKE_CAUSES, 0))
    read: Any = None
    """Optional function that reads the owner's state when somebody scrapes."""


@dataclass(slots=True, eq=False)
class Connector:
    """One configured MCP server, with everything that is counted for it."""

    name: str
    generation: int = 0
    calls: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    attempts: int = 0
    retries: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(n.FAULT_CAUSES, 0))
    limits_known: dict[str, float | None] | None = None
    """Of the call started last; most calls have the same."""
    prepared: set[str | None] = field(default_factory=set)
    """Limit sources whose deadline counter exists; None: without a limit."""
    methods: set[str] = field(default_factory=set)
    sessions: dict[int, Session] = field(default_factory=dict)
    open_calls: dict[int, Call] = field(default_factory=dict)
    limit: float | None = None
    """Of the call started last; 0 = none, None = unknown."""
    tools: int | None = None
    listed: set[str] = field(default_factory=set)
    read_only: set[str] = field(default_factory=set)
    """Of the listed tools, those that may be called twice: the server's `readOnlyHint`."""
    breaker: Breaker | None = None
    lock_waiting: int = 0
    said_state: str | None = None
    """What an adapter says about the connector while no session is open."""
    last_connect_failed: bool = False
    ever_ready: bool = False
    last_end: str | None = None
    """Why the last session ended, as a connect reason, for the next connect."""
    registered: bool = False

    def state(self) -> str:
        """The state that counts; see `docs/contract.md`, `otel_mcp.client.connector.state`."""
        sessions = list(self.sessions.values())  # a scrape asks beside threads in which sessions come and go
        states = {session.state for session in sessions if not session.retired}
        if READY in states:
            return "ready"
        if CONNECTING in states:
            fresh = all(s.reason in {"initial", "additional"} for s in sessions if s.state == CONNECTING)
            return "connecting" if fresh else "reconnecting"
        if self.said_state is not None:
            return self.said_state
        if LOST in states or self.last_connect_failed:
            return "failed"
        return "closed"
