"""Frozen snapshots of the ledger, for tests, health pages and people at a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import Ledger
from otel_mcp._ledger.model import now


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that has no answer yet. Times in seconds."""

    id: int
    method: str
    tool: str | None
    phase: str
    age: float
    limit: float | None
    limit_source: str | None
    lock_holder: str | None


@dataclass(frozen=True, slots=True)
class ConnectorStatistics:
    """What was counted for one connector since the process began."""

    state: str
    calls: Mapping[str, int]
    """Calls ended, by outcome; all eight are there."""
    attempts: int
    retries: int
    generation: int
    """Sessions opened so far."""
    tools: int | None
    open: tuple[OpenCall, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What this process has seen."""

    connectors: Mapping[str, ConnectorStatistics]
    open_calls: int
    open_requests: int


def snapshot(ledger: Ledger) -> Statistics:
    """The ledger as it stands now."""
    with ledger.lock:
        connectors = {name: _connector(entry) for name, entry in ledger.connectors.items() if entry.registered}
        return Statistics(MappingProxyType(connectors), len(ledger.calls), len(ledger.attempts()))


def _connector(connector: Connector) -> ConnectorStatistics:
    moment = now()
    return ConnectorStatistics(
        state=connector.state(),
        calls=MappingProxyType({outcome.value: count for outcome, count in connector.calls.items()}),
        attempts=connector.attempts,
        retries=sum(connector.retries.values()),
        generation=connector.generation,
        tools=connector.tools,
        open=tuple(
            OpenCall(call.id, call.method, call.target, call.phase, moment - call.started, *call.limit,
                     call.lock_holder)
            for call in sorted(connector.open_calls.values(), key=lambda call: call.started)
        ),
    )  # fmt: skip
