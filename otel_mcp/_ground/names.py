"""Every string that leaves the process, and the bucket bounds.

OpenTelemetry's own names follow the MCP conventions (semantic-conventions-genai, ``docs/gen-ai/mcp.md``,
status Development). They are written out here because the Python package marks its ``mcp`` constants as
deprecated. What the conventions lack lives under ``otel_mcp.``.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "otel_mcp"
"""Name of our tracer, meter and logger."""

# --- OpenTelemetry's own attributes -------------------------------------------------------------------------------
MCP_METHOD_NAME: Final = "mcp.method.name"
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
MCP_SESSION_ID: Final = "mcp.session.id"
MCP_RESOURCE_URI: Final = "mcp.resource.uri"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_PROMPT_NAME: Final = "gen_ai.prompt.name"
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"
RPC_RESPONSE_STATUS_CODE: Final = "rpc.response.status_code"
JSONRPC_REQUEST_ID: Final = "jsonrpc.request.id"
NETWORK_TRANSPORT: Final = "network.transport"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

EXECUTE_TOOL: Final = "execute_tool"

# --- our own attributes -------------------------------------------------------------------------------------------
CONNECTOR: Final = "otel_mcp.connector"
OUTCOME: Final = "otel_mcp.outcome"
BUCKET: Final = "otel_mcp.bucket"
LIMIT_VALUE: Final = "otel_mcp.limit.value"
LIMIT_SOURCE: Final = "otel_mcp.limit.source"
PHASE: Final = "otel_mcp.phase"
SENT: Final = "otel_mcp.sent"
CAUSE: Final = "otel_mcp.cause"
ATTEMPTS: Final = "otel_mcp.attempts"
LOCK_WAIT: Final = "otel_mcp.lock.wait"
LOCK_HOLDER: Final = "otel_mcp.lock.holder"
LOCK_NAME: Final = "otel_mcp.lock.name"
BACKOFF: Final = "otel_mcp.backoff"
BREAKER_STATE: Final = "otel_mcp.breaker.state"
BREAKER_CAUSE: Final = "otel_mcp.breaker.cause"
SESSION_GENERATION: Final = "otel_mcp.session.generation"
SESSION_AGE: Final = "otel_mcp.session.age"
SESSION_IDLE: Final = "otel_mcp.session.idle"
KEEPALIVE_OVERLAP: Final = "otel_mcp.keepalive.overlap"
KEEPALIVE_PROBE: Final = "otel_mcp.keepalive.probe"
RETRY_UNSAFE: Final = "otel_mcp.retry.unsafe"
CONNECT_REASON: Final = "otel_mcp.connect.reason"
STATE: Final = "otel_mcp.state"
HOOK_TARGET: Final = "otel_mcp.hook.target"
HOOK_STATE: Final = "otel_mcp.hook.state"
COMPONENT: Final = "otel_mcp.component"
LABEL: Final = "otel_mcp.label"

# --- folded values ------------------------------------------------------------------------------------------------
OTHER: Final = "_other"
ERROR_OTHER: Final = "_OTHER"
"""OpenTelemetry's own spelling of the fallback for ``error.type``."""
NONE: Final = "none"
UNKNOWN: Final = "unknown"

# --- methods that are calls ---------------------------------------------------------------------------------------
TOOLS_CALL: Final = "tools/call"
RESOURCES_READ: Final = "resources/read"
PROMPTS_GET: Final = "prompts/get"
TOOLS_LIST: Final = "tools/list"
PING: Final = "ping"
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
CALL_METHODS: Final = (TOOLS_CALL, RESOURCES_READ, PROMPTS_GET)
TARGET_KEYS: Final = {TOOLS_CALL: GEN_AI_TOOL_NAME, PROMPTS_GET: GEN_AI_PROMPT_NAME}
"""The attribute that what is asked for stands in."""

# --- closed value sets --------------------------------------------------------------------------------------------
PHASES: Final = ("lock", "connect", "write", "wait", "validate", "backoff")
LIMIT_SOURCES: Final = ("sdk", "caller", "host", "guard", "transport")
FAULT_CAUSES: Final = (
    "http_401", "http_403", "http_404", "http_429", "http_4xx", "http_5xx", "stream_ended", "process_exit", "reset",
)  # fmt: skip
CAUSES: Final = (*FAULT_CAUSES, "write_stalled", "lock_wait", "breaker_open", "reconnect", "shutdown")
CONNECTOR_STATES: Final = ("ready", "connecting", "reconnecting", "parked", "failed", "closed")
"""Best first: with several sessions the best one counts."""
BREAKER_STATES: Final = ("closed", "half_open", "open")
STRIKE_CAUSES: Final = (
    "deadline", "transport", "tool_error", "error", "auth", "rate_limit", "lock_wait", "not_connected", "unknown",
)  # fmt: skip
CONNECT_REASONS: Final = (
    "initial", "additional", "keepalive", "transport", "session_expired", "auth", "recycle", "requested", "revival",
    "unknown",
)  # fmt: skip
HOOK_STATES: Final = ("active", "missing", "failed")

# --- bucket bounds, seconds ---------------------------------------------------------------------------------------
# The conventions stop at 300 s, which is the default tool limit of some hosts: every deadline there would fall into
# +Inf. Floats, because the Prometheus exporter prints integer bounds differently from float ones.
DURATION_BOUNDS: Final = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
)  # fmt: skip
LONG_BOUNDS: Final = (*DURATION_BOUNDS, 21600.0, 86400.0, 604800.0)
"""Sessions live for days, and a late answer may come hours later."""
