"""Spans: what they are called, what stands on them, when they are an error.

Loaded with the first tracer: who records no spans does without OpenTelemetry's API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_current_span, set_span_in_context

from otel_mcp._ground import names as n
from otel_mcp._ground.labels import Labels
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.targets import safe_path, safe_url, split
from otel_mcp._ground.text import short
from otel_mcp._ground.verdicts import OK
from otel_mcp._ledger.connector import Connector
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import MAX_CACHED, Attempt, Call, Session
from otel_mcp._record import readymade

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanContext, Tracer

    from otel_mcp._ground.verdicts import Verdict

_NO_SESSIONS_FROM = "2026-07-28"
"""From this protocol revision on there are no sessions to name."""

_GOOD: Final = {n.OUTCOME: Outcome.OK.value, n.BUCKET: Outcome.OK.bucket}


def target_label(labels: Labels, connector: Connector, target: str | None) -> str | None:
    """The label of a tool or prompt; `_other` for a name that the connector never listed nor answered."""
    if target is None:
        return None
    label = labels.known_tool(connector.name, target)
    if label is None:
        label = labels.tool(connector.name, target, proven=True) if target in connector.listed else n.OTHER
    return label


def start_attempt(tracer: Tracer, attempt: Attempt) -> None:
    """Start the CLIENT span of one request; `attempt.context` then holds the context in which it is current."""
    call = attempt.call
    parent = get_current()
    links: tuple[Link, ...] = ()
    if attempt.probe is not None:
        parent, links = Context(), _links_of_overlapped(attempt)
    elif attempt.unasked:
        parent = Context()
    elif call is not None and call.span is not None and call.own_span:
        parent = set_span_in_context(call.span)
    name, attributes = _begun_with(attempt)
    span = attempt.span = readymade.start_span(tracer, name, parent, SpanKind.CLIENT, attributes, links)
    context = span.get_span_context()
    if context.is_valid:
        attempt.span_context = context
        attempt.context = set_span_in_context(span, parent)
        if call is not None and not call.span_id:
            call.trace_id, call.span_id, call.trace_flags = context.trace_id, context.span_id, context.trace_flags


def _begun_with(attempt: Attempt) -> tuple[str, dict[str, Any]]:
    """Name and attributes that the span starts with; those of a method and target are looked up in the session."""
    known = attempt.session.span_cache
    key = (attempt.method, attempt.target)
    start = known.get(key)
    if start is None:
        start = _start(attempt)
        if start[0].endswith(n.OTHER):
            attempt.unnamed = True
        elif len(known) < MAX_CACHED:
            known[key] = start
    name, attributes = start[0], start[1].copy()
    if isinstance(attempt.key, (int, str)):
        attributes[n.JSONRPC_REQUEST_ID] = str(attempt.key)
    if attempt.uri is not None:
        attributes[n.MCP_RESOURCE_URI] = short(safe_uri(attempt.uri))
    if attempt.probe is not None:
        attributes[n.KEEPALIVE_PROBE] = True
    return name, attributes


def _start(attempt: Attempt) -> tuple[str, dict[str, Any]]:
    """Name and attributes that the spans of one method and target start with.

    The name is ``{method} {tool label or prompt label}``; what the connector never listed nor answered stays out.
    """
    session = attempt.session
    label = target_label(ledger.labels, session.connector, attempt.target)
    return attempt.method if label is None else f"{attempt.method} {label}", _base(session, attempt)


def _base(session: Session, attempt: Attempt) -> dict[str, Any]:
    transport = session.transport
    attributes: dict[str, Any] = {n.MCP_METHOD_NAME: attempt.method, n.CONNECTOR: short(session.name)}
    key = n.TARGET_KEYS.get(attempt.method)
    if key is not None and attempt.target is not None:
        attributes[key] = short(attempt.target)
    if attempt.method == n.TOOLS_CALL:
        attributes[n.GEN_AI_OPERATION_NAME] = n.EXECUTE_TOOL
    if transport.network is not None:
        attributes[n.NETWORK_TRANSPORT] = transport.network
    if transport.host is not None:
        attributes[n.SERVER_ADDRESS] = short(transport.host)
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
    if parts.netloc:
        return safe_url(uri)
    path = safe_path(parts.path)
    return f"{parts.scheme}:{path}" if parts.scheme else path


def end_attempt(span: Span, attempt: Attempt, verdict: Verdict) -> None:
    """Outcome, error and limit onto the attempt's span, and its end."""
    if attempt.unnamed and attempt.target is not None and verdict.outcome is Outcome.OK:
        _late_name(span, attempt.session.connector, attempt.method, attempt.target, answered=True)
    if span.is_recording():
        attributes = outcome_attributes(verdict)
        attributes[n.PHASE] = attempt.phase
        attributes[n.SENT] = attempt.sent_at is not None
        attributes[n.SESSION_AGE] = attempt.started - attempt.session.opened
        if verdict.limit is not None:
            attributes[n.LIMIT_VALUE] = float(verdict.limit)
        elif attempt.limit is not None or attempt.caller_limit is not None:
            attributes[n.LIMIT_VALUE], source = _tightest(attempt)
            attributes.setdefault(n.LIMIT_SOURCE, source)
        if attempt.overlaps:
            attributes[n.KEEPALIVE_OVERLAP] = True
        readymade.set_attributes(span, attributes)
        if verdict.error_type is not None:
            _mark_error(span)
    span.end()


def _tightest(attempt: Attempt) -> tuple[float, str]:
    """The tightest limit known when the request was made, and its source."""
    known = [(float(attempt.limit), "sdk")] if attempt.limit is not None else []
    if attempt.caller_limit is not None:
        known.append((float(attempt.caller_limit), "caller"))
    return min(known)


def outcome_attributes(verdict: Verdict) -> dict[str, Any]:
    """What a verdict puts on any span of ours."""
    if verdict is OK:
        return _GOOD.copy()
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
    times = call.phase_time
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
        n.LOCK_WAIT: times.get("lock"),
        n.LOCK_HOLDER: call.lock_holder,
        n.BACKOFF: times.get("backoff"),
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


def start_call(tracer: Tracer, call: Call) -> None:
    """Start the span of a call, unless an `execute_tool` span is there for it."""
    above = get_current_span()
    if above.is_recording() and _is_execute_tool(above):
        call.span, call.own_span = above, False
    else:
        label = target_label(ledger.labels, call.connector, call.target) or call.method
        call.span = tracer.start_span(f"call {label}", kind=SpanKind.INTERNAL)
    context = call.span.get_span_context()
    call.trace_id, call.span_id, call.trace_flags = context.trace_id, context.span_id, context.trace_flags


def end_call(span: Span, call: Call, verdict: Verdict) -> None:
    """The call's attributes onto its span, and its end if the span is ours to end."""
    own = call.own_span
    if own and call.target is not None:
        _late_name(span, call.connector, "call", call.target, answered=False)
    if span.is_recording():
        readymade.set_attributes(span, call_attributes(call, verdict))
        if own and verdict.error_type is not None:
            _mark_error(span)
    if own:
        span.end()


def current_context() -> SpanContext | None:
    """Context of the span that is current, if it is valid."""
    context = get_current_span().get_span_context()
    return context if context.is_valid else None


def connect(tracer: Tracer, session: Session, verdict: Verdict, started_ns: int) -> None:
    """The span of one connect: a root, linked to what asked for it."""
    links = [Link(session.asked_by)] if session.asked_by is not None else None
    name = f"connect {session.connector.name}"
    span = tracer.start_span(name, Context(), SpanKind.INTERNAL, None, links, started_ns)
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
    # A description would carry a server's text, which is content: there is none unless somebody asked for it.
    span.set_status(Status(StatusCode.ERROR, description))


def _late_name(span: Span, connector: Connector, first: str, target: str, *, answered: bool) -> None:
    """A tool that got its label by this very answer gets it into the span's name too."""
    name = getattr(span, "name", "")
    if span.is_recording() and isinstance(name, str) and name.endswith(n.OTHER):
        labels = ledger.labels
        # Given here too: without a meter provider no point has asked for the label.
        label = labels.tool(connector.name, target, proven=True) if answered else None
        label = label or labels.known_tool(connector.name, target)
        if label is not None and label != n.OTHER:
            span.update_name(f"{first} {label}")


def _links_of_overlapped(attempt: Attempt) -> tuple[Link, ...]:
    """Links from a keepalive probe to the requests that are open beside it."""
    others = [other for other in list(attempt.session.attempts.values()) if other is not attempt]
    return tuple(Link(each.span_context) for each in others if each.span_context is not None and each.probe is None)


def _is_execute_tool(span: Any) -> bool:
    """Whether a GenAI instrumentation has opened this span for the very call."""
    name = getattr(span, "name", "")
    if isinstance(name, str) and name.startswith(n.EXECUTE_TOOL):
        return True
    attributes = getattr(span, "attributes", None)
    return attributes is not None and attributes.get(n.GEN_AI_OPERATION_NAME) == n.EXECUTE_TOOL
