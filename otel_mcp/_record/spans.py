"""Spans: what they are called, what stands on them, when they are an error."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from otel_mcp._ground import names as n
from otel_mcp._ground.labels import Labels, short
from otel_mcp._ground.targets import safe_url, split
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Attempt, Call, Session

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, Tracer

    from otel_mcp._ground.verdicts import Verdict

_NO_SESSIONS_FROM = "2026-07-28"
"""From this protocol revision on there are no sessions to name."""

TARGET_KEYS = {n.TOOLS_CALL: n.GEN_AI_TOOL_NAME, n.PROMPTS_GET: n.GEN_AI_PROMPT_NAME}


def attempt_name(labels: Labels, attempt: Attempt) -> str:
    """``{method} {tool label or prompt label}``; a name the connector never listed nor answered stays out of it."""
    label = target_label(labels, attempt.session.connector, attempt.target)
    return attempt.method if label is None else f"{attempt.method} {label}"


def target_label(labels: Labels, connector: Connector, target: str | None) -> str | None:
    """The label of a tool or prompt; `_other` for a name that the connector never listed nor answered."""
    if target is None:
        return None
    label = labels.known_tool(connector.name, target)
    if label is None:
        label = labels.tool(connector.name, target, proven=True) if target in connector.listed else n.OTHER
    return label


def start_attempt(tracer: Tracer, name: str, attempt: Attempt, context: Context | None, links: list[Link]) -> Span:
    """The CLIENT span of one request."""
    from opentelemetry.trace import SpanKind

    session = attempt.session
    key = (attempt.method, attempt.target)
    base = session.span_cache.get(key)
    if base is None:
        base = _base(session, attempt)
        if len(session.span_cache) < 256:
            session.span_cache[key] = base
    attributes = {**base}
    if isinstance(attempt.key, (int, str)):
        attributes[n.JSONRPC_REQUEST_ID] = str(attempt.key)
    if attempt.uri is not None:
        attributes[n.MCP_RESOURCE_URI] = short(safe_uri(attempt.uri))
    if attempt.probe is not None:
        attributes[n.KEEPALIVE_PROBE] = True
    return tracer.start_span(name, context, SpanKind.CLIENT, attributes, links or None)


def _base(session: Session, attempt: Attempt) -> dict[str, Any]:
    transport = session.transport
    attributes: dict[str, Any] = {n.MCP_METHOD_NAME: attempt.method, n.CONNECTOR: short(session.name)}
    key = TARGET_KEYS.get(attempt.method)
    if key is not None and attempt.target is not None:
        attributes[key] = short(attempt.target)
    if attempt.method == n.TOOLS_CALL:
        attributes[n.GEN_AI_OPERATION_NAME] = n.EXECUTE_TOOL
    if transport.network is not None:
        attributes[n.NETWORK_TRANSPORT] = transport.network
    if transport.host is not None:
        attributes[n.SERVER_ADDRESS] = transport.host
        if transport.port is not None:
            attributes[n.SERVER_PORT] = transport.port
    if session.protocol is not None:
        attributes[n.MCP_PROTOCOL_VERSION] = session.protocol
        if transport.http_session_id is not None and session.protocol < _NO_SESSIONS_FROM:
            attributes[n.MCP_SESSION_ID] = short(transport.http_session_id)
    attributes[n.SESSION_GENERATION] = session.generation
    return attributes


def safe_uri(uri: str) -> str:
    """A resource URI without userinfo, query and fragment."""
    parts = split(uri)
    return safe_url(uri) if parts.netloc else f"{parts.scheme}:{parts.path}" if parts.scheme else parts.path


def end_attempt(span: Span, attempt: Attempt, verdict: Verdict) -> None:
    """Outcome, error and limit onto the attempt's span, and its end."""
    if span.is_recording():
        attributes = outcome_attributes(verdict)
        session = attempt.session
        attributes[n.PHASE] = attempt.phase
        attributes[n.SENT] = attempt.sent_at is not None
        attributes[n.SESSION_AGE] = attempt.started - session.opened
        if verdict.limit is not None:
            attributes[n.LIMIT_VALUE] = float(verdict.limit)
        elif (known := _tightest(attempt)) is not None:
            attributes[n.LIMIT_VALUE] = known[0]
            attributes.setdefault(n.LIMIT_SOURCE, known[1])
        if attempt.overlaps:
            attributes[n.KEEPALIVE_OVERLAP] = True
        span.set_attributes(attributes)
        if verdict.error_type is not None:
            _mark_error(span)
    span.end()


def _tightest(attempt: Attempt) -> tuple[float, str] | None:
    """The tightest limit known when the request was made, and its source."""
    known = [(float(attempt.limit), "sdk")] if attempt.limit is not None else []
    if attempt.caller_limit is not None:
        known.append((float(attempt.caller_limit), "caller"))
    return min(known, default=None)


def outcome_attributes(verdict: Verdict) -> dict[str, Any]:
    """What a verdict puts on any span of ours."""
    attributes: dict[str, Any] = {n.OUTCOME: verdict.outcome.value, n.BUCKET: verdict.outcome.bucket}
    if verdict.error_type is not None:
        attributes[n.ERROR_TYPE] = verdict.error_type
    if verdict.code is not None:
        attributes[n.RPC_RESPONSE_STATUS_CODE] = verdict.code
    if verdict.cause is not None:
        attributes[n.CAUSE] = verdict.cause
    if verdict.limit_source is not None:
        attributes[n.LIMIT_SOURCE] = verdict.limit_source
    return attributes


def call_attributes(call: Call, verdict: Verdict) -> dict[str, Any]:
    """What the call's own span, or the `execute_tool` span above it, says."""
    limit, source = call.limit
    if verdict.limit_source is not None:
        limit, source = verdict.limit, verdict.limit_source
    values: dict[str, Any] = {
        n.CONNECTOR: short(call.name),
        n.MCP_METHOD_NAME: call.method,
        **outcome_attributes(verdict),
        n.ATTEMPTS: call.attempts,
        n.PHASE: call.longest_phase(),
        n.SENT: call.sent,
        n.LIMIT_VALUE: limit,
        n.LIMIT_SOURCE: source,
        n.CAUSE: verdict.cause or call.cause,
        n.LOCK_WAIT: call.phase_time.get("lock"),
        n.LOCK_HOLDER: call.lock_holder,
        n.BACKOFF: call.phase_time.get("backoff"),
        n.BREAKER_STATE: call.breaker,
        n.SESSION_GENERATION: call.generation,
        n.SESSION_AGE: call.session_age,
        n.SESSION_IDLE: call.idle,
        n.KEEPALIVE_OVERLAP: call.overlap,
        n.RETRY_UNSAFE: call.retry_unsafe,
    }
    return {
        key: short(value) if isinstance(value, str) else value for key, value in values.items() if value is not None
    }


def end_call(span: Span, call: Call, verdict: Verdict, *, own: bool) -> None:
    """The call's attributes onto its span; `own` says that the span is ours to end."""
    if span.is_recording():
        span.set_attributes(call_attributes(call, verdict))
        if own and verdict.error_type is not None:
            _mark_error(span)
    if own:
        span.end()


def end_connect(span: Span, session: Session, verdict: Verdict) -> None:
    """Outcome, reason and generation onto the connect's span, and its end."""
    if span.is_recording():
        attributes = outcome_attributes(verdict)
        attributes[n.CONNECTOR] = short(session.name)
        attributes[n.CONNECT_REASON] = session.reason
        attributes[n.SESSION_GENERATION] = session.generation
        if session.transport.network is not None:
            attributes[n.NETWORK_TRANSPORT] = session.transport.network
        span.set_attributes(attributes)
        if verdict.error_type is not None:
            _mark_error(span)
    span.end()


def _mark_error(span: Span, description: str | None = None) -> None:
    from opentelemetry.trace import Status, StatusCode

    # A description would carry a server's text, which is content: there is none unless somebody asked for it.
    span.set_status(Status(StatusCode.ERROR, description))


def late_name(span: Span, connector: Connector, first: str, target: str, *, answered: bool) -> None:
    """A tool that got its label by this very answer gets it into the span's name too."""
    name = getattr(span, "name", "")
    if span.is_recording() and isinstance(name, str) and name.endswith(n.OTHER):
        labels = ledger.labels
        # Given here too: without a meter provider no point has asked for the label.
        label = labels.tool(connector.name, target, proven=True) if answered else None
        label = label or labels.known_tool(connector.name, target)
        if label is not None and label != n.OTHER:
            span.update_name(f"{first} {label}")


def links_of_overlapped(attempt: Attempt) -> list[Any]:
    """Links from a keepalive probe to the requests that are open beside it."""
    from opentelemetry.trace import Link

    links = []
    for other in list(attempt.session.attempts.values()):
        if other is not attempt and other.span is not None and other.probe is None:
            with contextlib.suppress(AttributeError):
                links.append(Link(other.span.get_span_context()))
    return links


def is_execute_tool(span: Any) -> bool:
    """Whether a GenAI instrumentation has opened this span for the very call."""
    name = getattr(span, "name", "")
    if isinstance(name, str) and name.startswith(n.EXECUTE_TOOL):
        return True
    attributes = getattr(span, "attributes", None)
    return attributes is not None and attributes.get(n.GEN_AI_OPERATION_NAME) == n.EXECUTE_TOOL
