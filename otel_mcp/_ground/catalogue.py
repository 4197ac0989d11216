"""The catalogue: every instrument, span attribute, log event and variable, as data.

`docs/contract.md` says the same in prose; a test holds the two to each other. Instruments are created from these
rows, dashboards are checked against them, and `otel-mcp doctor` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from otel_mcp._ground import names as n

Kind = Literal["counter", "histogram", "gauge"]


@dataclass(frozen=True)
class Instrument:
    """One row of the metrics table.

    `keys` is the full set of attribute keys an instrument may carry; `error.type` and the like are left out of a
    point where they do not apply.
    """

    name: str
    kind: Kind
    unit: str
    keys: tuple[str, ...]
    description: str
    bounds: tuple[float, ...] = ()

    @property
    def prometheus(self) -> str:
        """The family's name on a scrape and behind an OTLP receiver with the default translation."""
        base = self.name.replace(".", "_")
        if self.unit == "s":
            base += "_seconds"
        return base + "_total" if self.kind == "counter" else base


C, O = n.CONNECTOR, n.OUTCOME  # noqa: E741 - the contract's own abbreviations

CALLS: Final = Instrument(
    "otel_mcp.client.calls", "counter", "{call}", (C, O), "Calls ended, by connector and outcome."
)
ATTEMPTS: Final = Instrument("otel_mcp.client.attempts", "counter", "{attempt}", (C,), "Attempts of calls.")
RETRIES: Final = Instrument(
    "otel_mcp.client.retries", "counter", "{attempt}", (C, n.RETRY_UNSAFE), "Attempts of calls beyond the first."
)
CALL_DURATION: Final = Instrument(
    "otel_mcp.client.call.duration", "histogram", "s", (C, O), "Calls as the caller saw them.", n.DURATION_BOUNDS
)
_OPERATION_KEYS: Final = (
    n.MCP_METHOD_NAME, n.GEN_AI_TOOL_NAME, n.GEN_AI_PROMPT_NAME, n.GEN_AI_OPERATION_NAME, n.ERROR_TYPE,
    n.RPC_RESPONSE_STATUS_CODE, n.MCP_PROTOCOL_VERSION, n.NETWORK_TRANSPORT, C, O,
)  # fmt: skip
OPERATION_DURATION: Final = Instrument(
    "mcp.client.operation.duration",
    "histogram",
    "s",
    _OPERATION_KEYS,
    "One request of any method handed to an MCP session, as otel_mcp saw it.",
    n.DURATION_BOUNDS,
)
SESSION_DURATION: Final = Instrument(
    "mcp.client.session.duration",
    "histogram",
    "s",
    (n.ERROR_TYPE, n.MCP_PROTOCOL_VERSION, n.NETWORK_TRANSPORT, C),
    "The life of an MCP client session, as otel_mcp saw it.",
    n.LONG_BOUNDS,
)
CUTOFFS: Final = Instrument(
    "otel_mcp.client.cutoffs",
    "counter",
    "{call}",
    (C, O, n.PHASE, n.LIMIT_SOURCE),
    "Calls that ended otherwise than by an answer: where the time went and whose clock it was.",
)
FAULTS: Final = Instrument(
    "otel_mcp.client.faults", "counter", "{fault}", (C, n.CAUSE), "Root causes at the moment they happen."
)
LATE_RESPONSE_DELAY: Final = Instrument(
    "otel_mcp.client.late_response.delay",
    "histogram",
    "s",
    (C,),
    "Answers that came after we had given up: how much too late.",
    n.LONG_BOUNDS,
)
REQUEST_ACTIVE: Final = Instrument(
    "otel_mcp.client.request.active",
    "gauge",
    "{request}",
    (C, n.MCP_METHOD_NAME),
    "Requests open now, and orphans whose caller still waits.",
)
REQUEST_OLDEST_AGE: Final = Instrument(
    "otel_mcp.client.request.oldest_age", "gauge", "s", (C, n.MCP_METHOD_NAME), "Age of the oldest open request."
)
CALL_OLDEST_AGE: Final = Instrument(
    "otel_mcp.client.call.oldest_age", "gauge", "s", (C, n.PHASE), "Age of the oldest call that is in that phase now."
)
CALL_OVERDUE: Final = Instrument(
    "otel_mcp.client.call.overdue",
    "gauge",
    "{call}",
    (C,),
    "Calls open five seconds past their own limit; without a limit, past 600 s.",
)
LIMIT: Final = Instrument(
    "otel_mcp.client.limit", "gauge", "s", (C,), "Time limit of the call that was started last; 0 means none."
)
LOCK_WAIT_DURATION: Final = Instrument(
    "otel_mcp.client.lock.wait.duration",
    "histogram",
    "s",
    (C, n.LOCK_NAME),
    "Time spent acquiring a known lock around requests.",
    n.DURATION_BOUNDS,
)
LOCK_WAITING: Final = Instrument(
    "otel_mcp.client.lock.waiting", "gauge", "{call}", (C,), "Calls that wait for a known lock now."
)
KEEPALIVE_DURATION: Final = Instrument(
    "otel_mcp.client.keepalive.duration",
    "histogram",
    "s",
    (C, O, n.MCP_METHOD_NAME, n.KEEPALIVE_OVERLAP),
    "Keepalive probes; a JSON-RPC error answer means alive.",
    n.DURATION_BOUNDS,
)
CONNECT_DURATION: Final = Instrument(
    "otel_mcp.client.connect.duration",
    "histogram",
    "s",
    (C, O, n.CONNECT_REASON),
    "From connecting to ready, by reason.",
    n.DURATION_BOUNDS,
)
CONNECTOR_STATE: Final = Instrument(
    "otel_mcp.client.connector.state", "gauge", "{state}", (C, n.STATE), "1 for the connector's state, 0 for others."
)
LAST_INBOUND_AGE: Final = Instrument(
    "otel_mcp.client.session.last_inbound_age",
    "gauge",
    "s",
    (C,),
    "Since the last message of the session with the oldest open request, else of the newest session.",
)
TOOLS: Final = Instrument("otel_mcp.client.tools", "gauge", "{tool}", (C,), "Tools last listed.")
BREAKER_STATE: Final = Instrument(
    "otel_mcp.client.breaker.state",
    "gauge",
    "{state}",
    (C, n.BREAKER_STATE),
    "1 for the breaker's state, 0 for others; half_open from the end of the cool-down.",
)
BREAKER_TRANSITIONS: Final = Instrument(
    "otel_mcp.client.breaker.transitions",
    "counter",
    "{transition}",
    (C, n.BREAKER_STATE),
    "Breaker transitions, by the state that was entered.",
)
BREAKER_STRIKES: Final = Instrument(
    "otel_mcp.client.breaker.strikes", "counter", "{strike}", (C, n.BREAKER_CAUSE), "Strikes against the breaker."
)
HOOKS: Final = Instrument(
    "otel_mcp.hooks", "gauge", "{hook}", (n.HOOK_TARGET, n.HOOK_STATE), "Patch points by target and state."
)
INTERNAL_ERRORS: Final = Instrument(
    "otel_mcp.internal_errors", "counter", "{error}", (n.COMPONENT,), "Faults of otel_mcp itself that were caught."
)
LABELS_FOLDED: Final = Instrument(
    "otel_mcp.labels.folded", "counter", "{label}", (n.LABEL,), "Label values that became _other."
)

INSTRUMENTS: Final = (
    CALLS, ATTEMPTS, RETRIES, CALL_DURATION, OPERATION_DURATION, SESSION_DURATION, CUTOFFS, FAULTS,
    LATE_RESPONSE_DELAY, REQUEST_ACTIVE, REQUEST_OLDEST_AGE, CALL_OLDEST_AGE, CALL_OVERDUE, LIMIT, LOCK_WAIT_DURATION,
    LOCK_WAITING, KEEPALIVE_DURATION, CONNECT_DURATION, CONNECTOR_STATE, LAST_INBOUND_AGE, TOOLS, BREAKER_STATE,
    BREAKER_TRANSITIONS, BREAKER_STRIKES, HOOKS, INTERNAL_ERRORS, LABELS_FOLDED,
)  # fmt: skip

# --- call log -----------------------------------------------------------------------------------------------------
LOG_SCHEMA: Final = 1
LOG_COMMON: Final = (
    "schema", "event", "time", "service", "instance", "pid", "version", "connector", "transport",
)  # fmt: skip
LOG_CALL_ATTRIBUTES: Final = (
    "limit", "limit_source", "limits", "phase", "sent", "cause", "lock_wait", "backoff", "lock_holder", "breaker",
    "generation", "session_age", "idle", "keepalive_overlap", "retry_unsafe",
)  # fmt: skip
LOG_EVENTS: Final = {
    "call": (
        "id", "method", "tool", "outcome", "bucket", "elapsed", "attempts", "attempt_outcomes", *LOG_CALL_ATTRIBUTES,
        "error_type", "trace_id", "span_id",
    ),
    "still_waiting": (
        "id", "method", "tool", "phase", "age", "limit", "limit_source", "silent_for", "generation",
        "current_generation", "retired", "loop_blocked", "blocked_at", "lock_holder", "held_by",
    ),
    "late_response": ("id", "method", "tool", "delay", "limit", "trace_id", "span_id"),
    "connect": ("reason", "outcome", "elapsed", "generation", "error_type", "cause", "exit_code"),
    "session_end": ("generation", "age", "error_type", "cause", "exit_code", "noise_lines"),
    "keepalive": ("method", "outcome", "elapsed", "overlap"),
    "breaker": ("from", "to", "cause", "strikes", "cooldown"),
    "fault": ("cause", "status", "id"),
}  # fmt: skip
MAX_LOG_LINE: Final = 4096
"""Bytes. A single write of at most PIPE_BUF bytes to a file opened for appending is not torn by other writers."""

# --- environment --------------------------------------------------------------------------------------------------
VARIABLES: Final = (
    "OTEL_MCP_ENABLED", "OTEL_MCP_CALL_LOG", "OTEL_MCP_CONNECTORS", "OTEL_MCP_HOSTS", "OTEL_MCP_STILL_WAITING",
    "OTEL_MCP_TOOL_LABELS", "OTEL_MCP_TARGETS", "OTEL_MCP_SPANS", "OTEL_MCP_CAPTURE_CONTENT",
)  # fmt: skip
