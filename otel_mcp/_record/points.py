"""The attribute sets of histogram points: built once a combination, then looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from otel_mcp._ground import names as n
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import NETWORKS, Attempt

Key = tuple[Any, ...]


class Shape(NamedTuple):
    """How a key becomes the attributes of a point, and which key stands for it once the budget of sets is spent."""

    attributes: Callable[[Key], dict[str, Any]]
    folded: Callable[[Key], Key]


def operation_key(attempt: Attempt, verdict: Verdict) -> Key:
    """What tells one point of `mcp.client.operation.duration` from another."""
    session = attempt.session
    labels = ledger.labels
    name = session.connector.name
    target = None
    if attempt.target is not None:
        proven = verdict.outcome is Outcome.OK or attempt.target in session.connector.listed
        target = labels.known_tool(name, attempt.target) or labels.tool(name, attempt.target, proven=proven)
    return (
        name, attempt.method, target, verdict.outcome, verdict.error_type, verdict.code, session.protocol,
        session.transport.kind,
    )  # fmt: skip


def operation(key: Key) -> dict[str, Any]:
    """Attributes of a point of `mcp.client.operation.duration`."""
    name, method, target, outcome, error_type, code, protocol, kind = key
    labels = ledger.labels
    label = labels.method(name, method) if method != n.OTHER else method
    attributes: dict[str, Any] = {n.CONNECTOR: name, n.OUTCOME: outcome.value, n.MCP_METHOD_NAME: label}
    if target is not None:
        attributes[n.TARGET_KEYS[method]] = target
    if method == n.TOOLS_CALL:
        attributes[n.GEN_AI_OPERATION_NAME] = n.EXECUTE_TOOL
    if error_type is not None:
        attributes[n.ERROR_TYPE] = labels.error_type(error_type)
    if code is not None:
        attributes[n.RPC_RESPONSE_STATUS_CODE] = attributes[n.ERROR_TYPE]
    if protocol is not None:
        attributes[n.MCP_PROTOCOL_VERSION] = labels.protocol(protocol)
    if kind in NETWORKS:
        attributes[n.NETWORK_TRANSPORT] = NETWORKS[kind]
    return attributes


def call(key: Key) -> dict[str, Any]:
    """Attributes of a point of `otel_mcp.client.call.duration`."""
    return {n.CONNECTOR: key[0], n.OUTCOME: key[1].value}


def session(key: Key) -> dict[str, Any]:
    """Attributes of a point of `mcp.client.session.duration`."""
    connector, error, protocol, kind = key
    attributes = {n.CONNECTOR: connector}
    if error is not None:
        attributes[n.ERROR_TYPE] = ledger.labels.error_type(error)
    if protocol is not None:
        attributes[n.MCP_PROTOCOL_VERSION] = ledger.labels.protocol(protocol)
    if kind in NETWORKS:
        attributes[n.NETWORK_TRANSPORT] = NETWORKS[kind]
    return attributes


OPERATION: Final = Shape(operation, lambda key: (n.OTHER, n.OTHER, None, key[3], None, None, None, None))
CALL: Final = Shape(call, lambda key: (n.OTHER, key[1]))
SESSION: Final = Shape(session, lambda key: (n.OTHER, None, None, None))
SIMPLE: Final = Shape(dict, lambda key: tuple((k, n.OTHER if k == n.CONNECTOR else v) for k, v in key))
"""A key that is the attributes' items."""
