"""The eleven alerts. All but McpDeadlineHotHour read raw series, so they work from the first minute.

Every expression is grouped by job and connector, never by instance: a thousand agents that share one broken server
are one alert.
"""

from __future__ import annotations

from typing import Any

from dashboards import queries as q
from dashboards import settings as s
from otel_mcp._ground import catalogue as c

R = q.RULES
JC = f"job, {q.CONNECTOR}"
JIC = f"job, instance, {q.CONNECTOR}"
WHO = "{{ $labels." + q.CONNECTOR + " }} ({{ $labels.job }})"
JOB = "{{ $labels.job }}"
SHARE = "{{ $value | humanizePercentage }}"
COUNT = '{{ $value | printf "%.0f" }}'
ON_JOB = "var-job={{ $labels.job | urlquery }}"
ON_CONNECTOR = f"var-job={{{{ $labels.job | urlquery }}}}&var-connector={{{{ $labels.{q.CONNECTOR} | urlquery }}}}"


def alert(
    name: str,
    expr: str,
    hold: str,
    severity: str,
    summary: str,
    description: str,
    board: str,
    query: str = ON_CONNECTOR,
) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expr,
        "for": hold,
        "labels": {"severity": severity},
        "annotations": {
            "summary": summary,
            "description": description,
            "dashboard_url": f"/d/{board}?{query}",
            "runbook_url": f"runbooks/{name}.md",
        },
    }


def burn(long: str, short: str, factor: float) -> str:
    """Both windows above the factor: the long one says that it matters, the short one that it still goes on."""
    limit = f"{factor} * {s.OBJECTIVE}"
    enough = f"{q.increase(R, c.CALLS, long, q.DEADLINE, by=JC)} >= {s.BURN_MIN_DEADLINES}"
    return (
        f"({q.deadline_share(R, long, JC)} > {limit}) and ({q.deadline_share(R, short, JC)} > {limit}) and ({enough})"
    )


def deadline_alerts() -> list[dict[str, Any]]:
    cell_share = f"{s.CELL_DEADLINES} / ({s.CELL_ANSWERABLE} > 0)"
    own_share = f"sum by ({JC}) ({s.CELL_DEADLINES}) / (sum by ({JC}) ({s.CELL_ANSWERABLE}) > 0)"
    hot = (
        f"max without ({s.RECORDED_LABEL}) (({cell_share} >= {s.SHARE_WARN}) "
        f"and ({s.CELL_DEADLINES} >= {s.HOT_DEADLINES}) "
        f"and ({cell_share} >= on ({JC}) group_left () ({s.HOT_LIFT} * {own_share})) "
        f"and ({s.CELL_DEADLINES} >= {s.HOT_HOURS} * {s.CELL_FULLEST}))"
    )
    return [
        alert(
            "McpDeadlineBurnFast", burn("1h", "5m", s.BURN_FAST), "2m", "critical",
            f"{WHO}: {SHARE} of the last hour's calls ran out of time",
            f"{SHARE} of the calls to {WHO} in the last hour hit a deadline, and the last five minutes are no better. "
            "At this pace a month's allowance of 1 % is gone in two days.",
            s.DEADLINES_UID,
        ),
        alert(
            "McpDeadlineBurnSlow", burn("6h", "30m", s.BURN_SLOW), "15m", "warning",
            f"{WHO}: {SHARE} of the last six hours' calls ran out of time",
            f"{SHARE} of the calls to {WHO} in the last six hours hit a deadline, and the last half hour is no better. "
            "At this pace a month's allowance of 1 % is gone in five days.",
            s.DEADLINES_UID,
        ),
        alert(
            "McpDeadlineHotHour", hot, "1h", "info",
            f"{WHO}: deadlines cluster at {{{{ $labels.hour }}}}:00 UTC",
            f"{SHARE} of the calls to {WHO} between {{{{ $labels.hour }}}}:00 and {{{{ $labels.hour }}}}:59 UTC hit a "
            "deadline over the last 14 days, at least five times the connector's own rate and on at least three days. "
            "Something else runs at that hour.",
            s.DEADLINES_UID,
        ),
    ]  # fmt: skip


def call_alerts() -> list[dict[str, Any]]:
    failed = q.increase(R, c.CALLS, "15m", q.FAILED, by=JC)
    ended = q.increase(R, c.CALLS, "15m", q.NOT_CANCELLED, by=JC)
    return [
        alert(
            "McpCallsFailing",
            f"({failed} / ({ended} > 0) > {s.FAILING_SHARE}) and ({failed} >= {s.FAILING_MIN_CALLS})",
            "15m", "critical",
            f"{WHO}: {SHARE} of the calls fail",
            f"{SHARE} of the calls to {WHO} in the last 15 minutes ended in an error, a lost connection or a refusal. "
            "Deadlines and tools' own errors are not counted here.",
            s.CONNECTOR_UID,
        ),
        alert(
            "McpCallStuck", f"max by ({JC}) ({R.series(c.CALL_OVERDUE)}) > 0", "1m", "critical",
            f"{WHO}: a call is past its own time limit",
            f"{COUNT} call(s) to {WHO} in one process are open more than five seconds past their own limit, or more "
            "than ten minutes without one. The limit did not work: nobody will wake that caller.",
            s.CONNECTOR_UID,
        ),
    ]  # fmt: skip


def breaker_alerts() -> list[dict[str, Any]]:
    closed = R.series(c.BREAKER_STATE, f'{q.BREAKER_STATE}="closed"')
    closings = R.series(c.BREAKER_TRANSITIONS, f'{q.BREAKER_STATE}="closed"')
    return [
        alert(
            # `open == 1` would flicker: every cool-down ends in half_open, and a scrape sees that often enough.
            "McpBreakerOpen", f"min by ({JC}) ({closed}) == 0", "5m", "warning",
            f"{WHO}: the circuit breaker has not closed for five minutes",
            f"In at least one process the breaker of {WHO} has been open or half open for five minutes. Calls are "
            "refused without being sent.",
            s.CONNECTOR_UID,
        ),
        alert(
            # Openings alone would call every dead server flapping; only a breaker that closes again does flap.
            "McpBreakerFlapping", f"max by ({JC}) (increase({closings}[30m])) > {s.FLAPPING_CLOSINGS}",
            "0m", "warning",
            f"{WHO}: the circuit breaker opens and closes again and again",
            f"In one process the breaker of {WHO} closed {COUNT} times in 30 minutes. The server half works: it "
            "answers the trial call and fails the ones after it.",
            s.CONNECTOR_UID,
        ),
    ]  # fmt: skip


def connection_alerts() -> list[dict[str, Any]]:
    reconnects = q.increase(R, c.CONNECT_DURATION, "10m", q.RECONNECT, by=JIC, suffix="_count")
    calls = q.increase(R, c.CALLS, "10m", by=JIC)
    wanted = R.series(c.CONNECTOR_STATE, f'{q.STATE}=~"connecting|reconnecting|parked|failed"')
    ready = R.series(c.CONNECTOR_STATE, f'{q.STATE}="ready"')
    return [
        alert(
            "McpReconnectStorm",
            f"max by ({JC}) ({reconnects} > {s.STORM_RECONNECTS} "
            f"unless {reconnects} <= {s.STORM_SHARE_OF_CALLS} * {calls})",
            "5m", "warning",
            f"{WHO}: {COUNT} reconnects in ten minutes",
            f"One process connected {COUNT} times to {WHO} in ten minutes for other reasons than a first session, more "
            "than half as often as it called. Every reconnect may start a server process and cut calls that are open.",
            s.CONNECTOR_UID,
        ),
        alert(
            "McpConnectorDown",
            f"(max by ({JC}) ({wanted}) == 1) unless (max by ({JC}) ({ready}) == 1)", "5m", "critical",
            f"{WHO}: no process has a session",
            f"{WHO} is wanted and no process has had a session with it for five minutes. Calls are refused or wait.",
            s.HEALTH_UID,
        ),
    ]  # fmt: skip


def telemetry_alerts() -> list[dict[str, Any]]:
    hooks = R.series(c.HOOKS)
    # A nightly run is missed a day after it was last seen; an always-on process at once. Neither pages for the other.
    nightly = (
        f"group by (job) (max_over_time({hooks}[15m] offset 1d)) unless group by (job) (max_over_time({hooks}[2h]))"
    )
    always = (
        f"count_over_time((group by (job) ({hooks}))[1d:5m]) > {s.ALWAYS_ON_POINTS} unless group by (job) ({hooks})"
    )
    lost = R.series(c.HOOKS, f'{q.HOOK_STATE}=~"missing|failed"')
    return [
        alert(
            "McpTelemetryAbsent", f"({nightly}) or ({always})", "15m", "warning",
            f"{JOB}: no MCP telemetry arrives any more",
            f"{JOB} reported a day ago at this time, or all day long, and does not now. Either its processes are gone "
            "or their telemetry is: until it is back, no other alert of this set can fire for it.",
            s.HEALTH_UID, ON_JOB,
        ),
        alert(
            "McpTelemetryBlind",
            f"max by (job, {q.HOOK_TARGET}, {q.HOOK_STATE}) ({lost}) > 0 or count by (job) ({q.overflow(R)}) > 0",
            "10m", "warning",
            f"{JOB}: the MCP telemetry sees only a part",
            f"{{{{ if $labels.{q.HOOK_TARGET} }}}}{COUNT} patch point(s) of {{{{ $labels.{q.HOOK_TARGET} }}}} are "
            f"{{{{ $labels.{q.HOOK_STATE} }}}} in a process of {JOB}: calls may go unseen."
            f"{{{{ else }}}}The SDK dropped the labels of {COUNT} series of {JOB}: their connectors cannot be told "
            "apart.{{ end }}",
            s.HEALTH_UID, ON_JOB,
        ),
    ]  # fmt: skip


def groups() -> list[dict[str, Any]]:
    return [
        {"name": "otel-mcp-deadlines", "rules": deadline_alerts()},
        {"name": "otel-mcp-calls", "rules": call_alerts()},
        {"name": "otel-mcp-breakers", "rules": breaker_alerts()},
        {"name": "otel-mcp-connections", "rules": connection_alerts()},
        {"name": "otel-mcp-telemetry", "rules": telemetry_alerts()},
    ]
