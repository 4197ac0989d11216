"""What one call has to leave behind: one record, one span, one count, one point in each histogram."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from harness.sessions import MAJOR, PROTOCOL
from otel_mcp.testing import Call, Capture, Point, Span

BUCKETS = {"ok": "ok", "deadline": "deadline"}
VOLATILE = {
    "jsonrpc.request.id",
    "mcp.session.id",
    "otel_mcp.limit.value",
    "otel_mcp.session.age",
    "server.port",
}
NETWORKS = {"stdio": {"network.transport": "pipe"}, "memory": {}}
TCP = {"network.transport": "tcp", "server.address": "127.0.0.1"}


@dataclass(frozen=True)
class Expected:
    """A call's end; `attempt` where its only attempt ended in another way, `attempts` = 0 where nothing was sent."""

    outcome: str
    error_type: str | None = None
    code: str | None = None
    cause: str | None = None
    source: str | None = None
    limit: float | None = None
    phase: str | None = None
    sent: bool = True
    attempts: int = 1
    attempt: Expected | None = None
    protocol: str = PROTOCOL

    def of(self, **changes: Any) -> Expected:
        return replace(self, **changes)


OK = Expected("ok")
TOOL_ERROR = Expected("tool_error", "tool_error")
CANCELLED = Expected("cancelled")
ORPHANED = Expected("orphaned", "orphaned")
CLOSED = Expected("disconnected", "connection_closed")


def peer_error(code: int) -> Expected:
    return Expected("error", str(code), code=str(code))


def deadline(source: str, limit: float | None = None, cause: str | None = None) -> Expected:
    return Expected(
        "deadline", "timeout", source=source, limit=limit, cause=cause, phase="wait" if source == "sdk" else None
    )


def by_major(first: Expected, second: Expected) -> Expected:
    return first if MAJOR == 1 else second


def check(seen: Capture, tool: str | None, *expected: Expected, method: str = "tools/call") -> None:
    """Every call of the tool is as expected, in the order of their ends, and nothing is open or counted twice."""
    calls = [call for call in seen.calls if (call.tool, call.method) == (tool, method)]
    assert [call.outcome for call in calls] == [row.outcome for row in expected]
    assert len({call.connector for call in seen.calls}) == 1
    for call, row in zip(calls, expected, strict=True):
        _check_record(call, row)
    _check_counts(seen, calls, expected)
    spans = [span for span in seen.spans if span.name.startswith(method) and _target(span) == tool]
    made = [row.attempt or row for row in expected if row.attempts]
    assert Counter(_outcome(span) for span in spans) == Counter(row.outcome for row in made)
    for row in made:
        span = next(span for span in spans if _outcome(span) == row.outcome)
        spans.remove(span)
        _check_span(span, row, calls[0])
    statistics = seen.statistics()
    assert (statistics.open_calls, statistics.open_requests) == (0, 0)


def _check_record(call: Call, row: Expected) -> None:
    told = "cancelled" if row.outcome == "cancelled" else row.error_type
    assert (call.bucket, call.error_type, call.cause) == (BUCKETS.get(row.outcome, "error"), told, row.cause)
    assert (call.attempts, call.sent) == (row.attempts, row.sent)
    assert call.fields["attempt_outcomes"] == [(row.attempt or row).outcome] * row.attempts
    assert call.elapsed >= 0
    if row.phase is not None:
        assert call.phase == row.phase
    if row.source is not None:
        assert call.limit_source == row.source
    if row.limit is not None:
        assert call.limit is not None
        assert abs(call.limit - row.limit) < row.limit / 2


def _check_counts(seen: Capture, calls: list[Call], expected: tuple[Expected, ...]) -> None:
    """Of all the connector's calls, since counters know no tools."""
    others = Counter(call.outcome for call in seen.calls if call not in calls)
    for outcome, count in (Counter(row.outcome for row in expected) + others).items():
        labels = {"otel_mcp.outcome": outcome}
        assert seen.total("otel_mcp.client.calls", labels) == count
        assert seen.total("otel_mcp.client.call.duration", labels) == count
    assert seen.total("otel_mcp.client.calls") == len(seen.calls)
    assert seen.total("otel_mcp.client.attempts") == sum(call.attempts for call in seen.calls)


def _check_span(span: Span, row: Expected, call: Call) -> None:
    method, tool = call.method, call.tool
    wanted: dict[str, Any] = {
        "mcp.method.name": method,
        "mcp.protocol.version": row.protocol,
        "otel_mcp.connector": call.connector,
        "otel_mcp.outcome": row.outcome,
        "otel_mcp.bucket": BUCKETS.get(row.outcome, "error"),
        "otel_mcp.sent": row.sent,
        "otel_mcp.session.generation": 1,
        **(NETWORKS.get(call.transport or "", TCP)),
        **({"gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool"} if method == "tools/call" else {}),
        **({"error.type": row.error_type} if row.error_type else {}),
        **({"rpc.response.status_code": row.code} if row.code else {}),
        **({"otel_mcp.cause": row.cause} if row.cause else {}),
    }
    got = {key: value for key, value in span.attributes.items() if key not in VOLATILE}
    source = got.pop("otel_mcp.limit.source", None)
    assert row.source in (None, source)
    got.pop("otel_mcp.phase")
    assert got == wanted
    assert (span.kind, span.status) == ("CLIENT", "ERROR" if row.error_type else "UNSET")


def _target(span: Span) -> Any:
    return span.attributes.get("gen_ai.tool.name", span.attributes.get("gen_ai.prompt.name"))


def _outcome(span: Span) -> str:
    return str(span.attributes["otel_mcp.outcome"])


def operations(seen: Capture, method: str = "tools/call") -> list[Point]:
    return list(seen.metric("mcp.client.operation.duration", {"mcp.method.name": method}))
