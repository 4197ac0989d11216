"""What the observed counters say. The ledger keeps the numbers, so they survive a change of meter provider."""

from __future__ import annotations

from collections.abc import Iterator

from otel_mcp._ground import guard, patching
from otel_mcp._ground import names as n
from otel_mcp._ledger.gauges import Point, _connectors
from otel_mcp._ledger.ledger import Ledger


def calls(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.calls`: all eight outcomes from the connector's registration."""
    for connector in _connectors(ledger):
        for outcome, count in connector.calls.items():
            yield count, {n.CONNECTOR: connector.name, n.OUTCOME: outcome.value}


def attempts(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.attempts`."""
    for connector in _connectors(ledger):
        yield connector.attempts, {n.CONNECTOR: connector.name}


def retries(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.retries`."""
    for connector in _connectors(ledger):
        for unsafe, count in connector.retries.items():
            yield count, {n.CONNECTOR: connector.name, n.RETRY_UNSAFE: unsafe}


def cutoffs(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.cutoffs`."""
    for key, count in list(ledger.cutoffs.values.items()):
        connector, outcome, phase, source = key
        yield count[0], {n.CONNECTOR: connector, n.OUTCOME: outcome, n.PHASE: phase, n.LIMIT_SOURCE: source}


def faults(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.faults`."""
    for connector in _connectors(ledger):
        for cause, count in list(connector.faults.items()):
            yield count, {n.CONNECTOR: connector.name, n.CAUSE: cause}


def breaker_transitions(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.breaker.transitions`."""
    for connector in _connectors(ledger):
        if connector.breaker is not None:
            for state, count in connector.breaker.entered.items():
                yield count, {n.CONNECTOR: connector.name, n.BREAKER_STATE: state}


def breaker_strikes(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.client.breaker.strikes`."""
    for connector in _connectors(ledger):
        if connector.breaker is not None:
            for cause, count in connector.breaker.strikes.items():
                yield count, {n.CONNECTOR: connector.name, n.BREAKER_CAUSE: cause}


def hooks(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.hooks`."""
    for (target, state), count in patching.counts().items():
        yield count, {n.HOOK_TARGET: target, n.HOOK_STATE: state}


def internal_errors(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.internal_errors`."""
    for component, count in guard.internal_errors().items():
        yield count, {n.COMPONENT: component}


def labels_folded(ledger: Ledger) -> Iterator[Point]:
    """`otel_mcp.labels.folded`."""
    for label, count in list(ledger.labels.folded.items()):
        yield count, {n.LABEL: label}
