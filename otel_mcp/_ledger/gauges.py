"""What the gauges say, read from the ledger when somebody scrapes. Costs nothing between scrapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._ground.labels import Labels
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import Ledger
from otel_mcp._ledger.model import Attempt, Session, now

Point = tuple[float, dict[str, Any]]


def _connectors(ledger: Ledger) -> list[Connector]:
    return [connector for connector in list(ledger.connectors.values()) if connector.registered]


def _open(connector: Connector) -> Iterator[Attempt]:
    for session in list(connector.sessions.values()):
        yield from list(session.attempts.values())


def _by_method(connector: Connector, labels: Labels) -> dict[str, list[float]]:
    """Start times of what is open, by method label; methods that were seen before stand there empty."""
    starts: dict[str, list[float]] = {labels.method_asked(connector.name, m): [] for m in list(connector.methods)}
    for attempt in _open(connector):
        starts.setdefault(labels.method_asked(connector.name, attempt.method), []).append(attempt.started)
    return starts


def request_active(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.request.active`."""
    for connector in _connectors(ledger):
        for method, starts in _by_method(connector, ledger.labels).items():
            yield len(starts), {n.CONNECTOR: connector.name, n.MCP_METHOD_NAME: method}


def request_oldest_age(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.request.oldest_age`."""
    moment = now()
    for connector in _connectors(ledger):
        for method, starts in _by_method(connector, ledger.labels).items():
            yield _age(moment, starts), {n.CONNECTOR: connector.name, n.MCP_METHOD_NAME: method}


def call_oldest_age(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.call.oldest_age`."""
    moment = now()
    for connector in _connectors(ledger):
        oldest = dict.fromkeys(n.PHASES, moment)
        for call in list(connector.open_calls.values()):
            oldest[call.phase] = min(oldest[call.phase], call.started)
        for phase, start in oldest.items():
            yield moment - start, {n.CONNECTOR: connector.name, n.PHASE: phase}


def call_overdue(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.call.overdue`."""
    moment = now()
    for connector in _connectors(ledger):
        late = sum(call.overdue(moment) for call in list(connector.open_calls.values()))
        yield late, {n.CONNECTOR: connector.name}


def limit(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.limit`."""
    for connector in _connectors(ledger):
        if connector.limit is not None:
            yield connector.limit, {n.CONNECTOR: connector.name}


def lock_waiting(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.lock.waiting`."""
    for connector in _connectors(ledger):
        yield connector.lock_waiting, {n.CONNECTOR: connector.name}


def connector_state(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.connector.state`."""
    for connector in _connectors(ledger):
        current = connector.state()
        for state in n.CONNECTOR_STATES:
            yield int(state == current), {n.CONNECTOR: connector.name, n.STATE: state}


def last_inbound_age(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.session.last_inbound_age`."""
    moment = now()
    for connector in _connectors(ledger):
        session = _session_of_interest(connector)
        if session is not None:
            yield moment - (session.last_inbound or session.opened), {n.CONNECTOR: connector.name}


def _session_of_interest(connector: Connector) -> Session | None:
    oldest = min(_open(connector), key=lambda attempt: attempt.started, default=None)
    if oldest is not None:
        return oldest.session
    live = [session for session in list(connector.sessions.values()) if not session.retired]
    return max(live, key=lambda session: session.opened, default=None)


def tools(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.tools`."""
    for connector in _connectors(ledger):
        if connector.tools is not None:
            yield connector.tools, {n.CONNECTOR: connector.name}


def breaker_state(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.breaker.state`: `half_open` from the end of the cool-down, call or no call."""
    moment = now()
    for connector in _connectors(ledger):
        breaker = connector.breaker
        if breaker is None:
            continue
        current = breaker.read() if breaker.read is not None else breaker.state
        if current == "open" and breaker.half_open_at is not None and moment >= breaker.half_open_at:
            current = "half_open"
        for state in n.BREAKER_STATES:
            yield int(state == current), {n.CONNECTOR: connector.name, n.BREAKER_STATE: state}


def _age(moment: float, starts: list[float]) -> float:
    return moment - min(starts) if starts else 0.0
