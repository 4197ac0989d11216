"""One connector: everything a name on another dashboard leads to."""

from __future__ import annotations

from dashboards import queries as q
from dashboards import settings, variables
from dashboards.defaults import Board, Row
from dashboards.panels import (
    GREEN,
    GREY,
    ORANGE,
    RED,
    SHARE_STEPS,
    YELLOW,
    bad_above,
    column,
    graph,
    stat,
    table,
    target,
    text,
    timeline,
)
from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names

B = q.ONE
RANGE = "$__range"
ERROR_KEYS = f"{q.METHOD}, {q.ERROR_TYPE}, {q.PROTOCOL}"
CALLS_OF_TOOLS = f'{q.METHOD}="{names.TOOLS_CALL}"'
STATES = [
    (0, "ready", GREEN),
    (1, "closed on purpose", GREY),
    (2, "connecting", YELLOW),
    (3, "reconnecting", ORANGE),
    (4, "parked", RED),
    (5, "failed", RED),
]
OPEN = f'{q.BREAKER_STATE}="open"'
BREAKER = [(0, "closed", GREEN), (1, "half open", YELLOW), (2, "open", RED)]


def legend(label: str) -> str:
    return "{{" + label + "}}"


def worst_state() -> str:
    """The states' numbers above; with several processes the worst is shown."""
    order = {"closed": 1, "connecting": 2, "reconnecting": 3, "parked": 4, "failed": 5, "ready": 0}
    parts = [
        f"{n} * {B.series(c.CONNECTOR_STATE, f'{q.STATE}={chr(34)}{state}{chr(34)}')}" for state, n in order.items()
    ]
    return "max(" + " or ".join(parts) + ")"


def worst_breaker() -> str:
    opened = B.series(c.BREAKER_STATE, OPEN)
    half = B.series(c.BREAKER_STATE, f'{q.BREAKER_STATE}="half_open"')
    return f"max(2 * {opened} or {half})"


traffic = Row(
    "Is it up, how much is asked of it, and what comes back?",
    (
        stat(
            "What share hit a deadline in this range?",
            "Deadlines of all calls that could have been answered. Above 1 %: see what lay beneath, and when.",
            q.deadline_share(B, RANGE, by=""),
            "percentunit",
            bad_above(settings.OBJECTIVE, settings.SHARE_WARN),
            none="no calls",
        ),
        stat(
            "How many calls in this range?",
            "All outcomes. Few calls make every share on this page shaky.",
            q.increase(B, c.CALLS, RANGE),
            "short",
            [(None, "#5794f2")],
        ),
        stat(
            "Which limit is in force?",
            "The time limit of the call that was started last. 0 means that there is none and that a silent server "
            "blocks its caller for ever.",
            f"max({B.series(c.LIMIT)})",
            "s",
            [(None, RED), (0.001, GREEN)],
            none="unknown",
        ),
        stat(
            "How many tools does it list?",
            "Tools in the last listing. A drop to 0 after a reconnect: the server came back without its tools.",
            f"max({B.series(c.TOOLS)})",
            "none",
            [(None, ORANGE), (1, GREEN)],
            none="not listed",
        ),
        timeline(
            "Was it connected?",
            "The session's state over time; of several processes the worst. failed: nobody is trying any more. "
            "parked: given up for now; some hosts try again by themselves.",
            [target(worst_state(), "state")],
            STATES,
        ),
        graph(
            "How many calls a second does it get?",
            "Calls that ended, by outcome. The gap between two lines is not stacked: read each by itself.",
            [target(q.rate(B, c.CALLS, by=q.OUTCOME), legend(q.OUTCOME))],
            "reqps",
        ),
        graph(
            "What is the mix of outcomes?",
            "Each outcome as a share of the last hour's calls. rejected means that nothing was sent: the breaker was "
            "open or the session gone.",
            [
                target(
                    f"{q.increase(B, c.CALLS, '1h', by=q.OUTCOME)} / on () group_left () "
                    f"({q.increase(B, c.CALLS, '1h')} > 0)",
                    legend(q.OUTCOME),
                )
            ],
            "percentunit",
            most=1,
        ),
    ),
)

speed = Row(
    "How long do calls take?",
    (
        graph(
            "How long do callers wait, and how near is the limit?",
            "Percentiles of the last hour's calls as the caller saw them, with lock, reconnects and retries, beside "
            "the limit in force. p99 at the limit: every hundredth call is cut off. Above 10 s the buckets are wide.",
            [
                *(target(q.quantile(p, B, c.CALL_DURATION, "1h"), f"p{p * 100:g}") for p in (0.5, 0.9, 0.99)),
                target(f"max({B.series(c.LIMIT)})", "limit"),
            ],
            "s",
        ),
        graph(
            "Which tool is slow?",
            "90th percentile of single attempts in the last hour, by tool. _other are tools beyond the label budget.",
            [target(q.quantile(0.9, B, c.OPERATION_DURATION, "1h", CALLS_OF_TOOLS, by=q.TOOL), legend(q.TOOL))],
            "s",
        ),
        table(
            "Which tool runs out of time?",
            "Attempts over the range by tool. One tool with all the deadlines: give that tool a longer limit, not the "
            "connector.",
            {
                "Attempts": q.increase(B, c.OPERATION_DURATION, RANGE, CALLS_OF_TOOLS, by=q.TOOL, suffix="_count"),
                "Deadlines": q.increase(
                    B, c.OPERATION_DURATION, RANGE, CALLS_OF_TOOLS, q.DEADLINE, by=q.TOOL, suffix="_count"
                ),
                "p90": q.quantile(0.9, B, c.OPERATION_DURATION, RANGE, CALLS_OF_TOOLS, by=q.TOOL),
            },
            {q.TOOL: "Tool"},
            overrides=[column("Attempts", decimals=0), column("Deadlines", decimals=0), column("p90", unit="s")],
            sort="Deadlines",
        ),
        table(
            "Which errors came back?",
            "Attempts over the range that ended otherwise than by a result, by error type and protocol version. A "
            "number is the peer's JSON-RPC code; three digits are an HTTP status.",
            {
                "Attempts": q.increase(
                    B, c.OPERATION_DURATION, RANGE, f'{q.ERROR_TYPE}!=""', by=ERROR_KEYS, suffix="_count",
                )
                + " > 0",
            },
            {q.METHOD: "Method", q.ERROR_TYPE: "Error type", q.PROTOCOL: "Protocol"},
            overrides=[column("Attempts", decimals=0)],
            sort="Attempts",
        ),
        graph(
            "How many attempts does a call need?",
            "Attempts for each call in the last hour. 1 is right; 2 means that every call is sent twice.",
            [target(f"{q.increase(B, c.ATTEMPTS, '1h')} / ({q.increase(B, c.CALLS, '1h')} > 0)", "attempts per call")],
            "none",
            w=8,
        ),
        graph(
            "Were writes sent twice?",
            "Retries in the last hour. unsafe = true: an attempt that was sent and not answered was repeated, and "
            "nothing says that the tool may be. Such a call may have happened twice.",
            [target(q.increase(B, c.RETRIES, "1h", by=q.UNSAFE), "unsafe = " + legend(q.UNSAFE))],
            "short",
            w=8,
        ),
        graph(
            "How late were the answers after a deadline?",
            "Median and 90th percentile delay of answers that came after we had given up, and their number in the last "
            "hour. Small delays: a slightly longer limit would have helped.",
            [
                target(q.quantile(0.5, B, c.LATE_RESPONSE_DELAY, "1h"), "half within"),
                target(q.quantile(0.9, B, c.LATE_RESPONSE_DELAY, "1h"), "nine in ten within"),
            ],
            "s",
            w=8,
        ),
    ),
)  # fmt: skip

open_now = Row(
    "What is open, and since when?",
    (
        graph(
            "How many requests are open?",
            "Open requests by method, orphans with a waiting caller included. A line that only rises: a hang.",
            [target(q.total(q.METHOD, B.series(c.REQUEST_ACTIVE)), legend(q.METHOD))],
            "short",
            w=8,
        ),
        graph(
            "How old is the oldest call, and in which phase?",
            "Seconds since the oldest open call began, under the phase it is in. A straight rising line is a call that "
            "nobody ends.",
            [target(f"max by ({q.PHASE}) ({B.series(c.CALL_OLDEST_AGE)})", legend(q.PHASE))],
            "s",
            w=8,
        ),
        graph(
            "Does the server still say anything?",
            "Age of the oldest open request, and how long the session has been silent. Both rising together: the "
            "server hangs. Requests old but the session talking: it is busy with this one.",
            [
                target(f"max by ({q.METHOD}) ({B.series(c.REQUEST_OLDEST_AGE)})", "oldest " + legend(q.METHOD)),
                target(f"max({B.series(c.LAST_INBOUND_AGE)})", "silent for"),
            ],
            "s",
            w=8,
        ),
        graph(
            "How many calls are past their own limit?",
            "More than 0 for a minute raises McpCallStuck.",
            [target(q.total("", B.series(c.CALL_OVERDUE)), "overdue")],
            "short",
            bad_above(1, 1),
            w=8,
        ),
        graph(
            "How long do calls wait for a lock?",
            "90th percentile of lock waits in the last hour, by lock.",
            [target(q.quantile(0.9, B, c.LOCK_WAIT_DURATION, "1h", by=q.LOCK_NAME), legend(q.LOCK_NAME))],
            "s",
            w=8,
        ),
        graph(
            "What share of the calls' time goes to the lock?",
            "Lock wait of the last hour by the time that calls took. Above a tenth, calls queue behind each other.",
            [
                target(q.lock_share(B, "1h", by=""), "share"),
                target(q.total("", B.series(c.LOCK_WAITING)), "waiting now (calls)"),
            ],
            "percentunit",
            w=8,
        ),
    ),
)
open_now.panels[-1]["fieldConfig"]["overrides"] = [
    column("waiting now (calls)", unit="short", custom__axisPlacement="right")
]

changed = f"{q.increase(B, c.BREAKER_TRANSITIONS, '10m', OPEN, by='job, instance')} > 0"
strikes = q.increase(B, c.BREAKER_STRIKES, "10m", by=f"job, instance, {q.BREAKER_CAUSE}")
breaker = Row(
    "Is the breaker open, and what opened it?",
    (
        timeline(
            "When was the breaker open?",
            "While it is open calls are refused without being sent. With several processes the worst is shown. Empty: "
            "this connector has no breaker.",
            [target(worst_breaker(), "breaker")],
            BREAKER,
        ),
        graph(
            "What are the strikes against it?",
            "Strikes in ten minutes by cause. tool_error strikes punish a healthy server for a tool's own answers; "
            "lock_wait strikes punish it for our queue.",
            [target(q.increase(B, c.BREAKER_STRIKES, "10m", by=q.BREAKER_CAUSE), legend(q.BREAKER_CAUSE))],
            "short",
            w=8,
        ),
        graph(
            "What opened it?",
            "Strikes of the ten minutes in which the breaker opened, by cause; drawn only then.",
            [
                target(
                    f"sum by ({q.BREAKER_CAUSE}) (({strikes}) and on (job, instance) ({changed}))",
                    legend(q.BREAKER_CAUSE),
                )
            ],
            "short",
            w=8,
        ),
        graph(
            "How often did it change?",
            "Transitions in 30 minutes by the state entered. Many into closed: it flaps, the server half works.",
            [target(q.increase(B, c.BREAKER_TRANSITIONS, "30m", by=q.BREAKER_STATE), legend(q.BREAKER_STATE))],
            "short",
            w=8,
        ),
    ),
)

alive = Row(
    "Do keepalives and connects tell the same story?",
    (
        graph(
            "Do keepalive probes fail while calls are open?",
            "Share of the last hour's probes that got no sign of life, with and without a call open at the same time. "
            "Failing only with overlap = true: the server answers one thing at a time, and a reconnect would kill a "
            "healthy call.",
            [
                target(
                    f"{q.increase(B, c.KEEPALIVE_DURATION, '1h', failed_probe, by=q.OVERLAP, suffix='_count')} / "
                    f"({q.increase(B, c.KEEPALIVE_DURATION, '1h', by=q.OVERLAP, suffix='_count')} > 0)",
                    "overlap = " + legend(q.OVERLAP),
                )
                for failed_probe in (f'{q.OUTCOME}=~"deadline|disconnected|orphaned"',)
            ],
            "percentunit",
            SHARE_STEPS,
            w=8,
        ),
        graph(
            "How fast are the probes answered?",
            "90th percentile of the last hour's probes, by outcome.",
            [target(q.quantile(0.9, B, c.KEEPALIVE_DURATION, "1h", by=q.OUTCOME), legend(q.OUTCOME))],
            "s",
            w=8,
        ),
        graph(
            "Why was it connected again?",
            "Connects in ten minutes by reason. initial and additional are normal. keepalive: a probe failed. "
            "transport: the connection broke. auth, session_expired: the server forgot us.",
            [target(q.increase(B, c.CONNECT_DURATION, "10m", by=q.REASON, suffix="_count"), legend(q.REASON))],
            "short",
            w=8,
        ),
        graph(
            "How long does a connect take?",
            "90th percentile of the last hour's connects, by outcome. Cold starts show here, not in the calls.",
            [target(q.quantile(0.9, B, c.CONNECT_DURATION, "1h", by=q.OUTCOME), legend(q.OUTCOME))],
            "s",
        ),
        table(
            "How long do its sessions live?",
            "Sessions that ended in the range, by the reason of their end. Lives of seconds with process_exit-like "
            "errors: the server dies right after the handshake. All lives equal: something cuts them at that age.",
            {
                "Ended": q.increase(B, c.SESSION_DURATION, RANGE, by=f"{q.ERROR_TYPE}, {q.TRANSPORT}", suffix="_count"),
                "Half lived less than": q.quantile(
                    0.5, B, c.SESSION_DURATION, RANGE, by=f"{q.ERROR_TYPE}, {q.TRANSPORT}"
                ),
                "Nine in ten less than": q.quantile(
                    0.9, B, c.SESSION_DURATION, RANGE, by=f"{q.ERROR_TYPE}, {q.TRANSPORT}"
                ),
            },
            {q.ERROR_TYPE: "Ended by", q.TRANSPORT: "Transport"},
            overrides=[
                column("Ended", decimals=0),
                column("Half lived less than", unit="s"),
                column("Nine in ten less than", unit="s"),
            ],
            sort="Ended",
        ),
        table(
            "What went wrong beneath it?",
            "Root causes in the range at the moment they happened, fatal or not.",
            {"Faults": f"{q.increase(B, c.FAULTS, RANGE, by=q.CAUSE)} > 0"},
            {q.CAUSE: "Cause"},
            overrides=[column("Faults", decimals=0)],
            sort="Faults",
        ),
        table(
            "How were calls cut off?",
            "Calls in the range that ended otherwise than by an answer: outcome, the phase that took the time, and "
            "whose limit it was.",
            {"Calls": f"{q.increase(B, c.CUTOFFS, RANGE, by=f'{q.OUTCOME}, {q.PHASE}, {q.LIMIT_SOURCE}')} > 0"},
            {q.OUTCOME: "Outcome", q.PHASE: "Phase", q.LIMIT_SOURCE: "Whose limit"},
            overrides=[column("Calls", decimals=0)],
            sort="Calls",
        ),
    ),
)

EXPLORE = (
    '/explore?schemaVersion=1&orgId=1&panes={"t":{"datasource":"${traces}","queries":[{"refId":"A","queryType":"traceql",'
    '"query":"{ span.otel_mcp.connector = \\"${connector}\\" && FILTER }"}],'
    '"range":{"from":"${__from}","to":"${__to}"}}}'
)


def explore(condition: str) -> str:
    """A link into Grafana's trace search, percent-encoded where a browser or Markdown would stumble."""
    url = EXPLORE.replace("FILTER", condition)
    for plain, code in (('"', "%22"), (" ", "%20"), ("\\", "%5C"), ("&&", "%26%26"), ("|", "%7C"), (">", "%3E")):
        url = url.replace(plain, code)
    return url


single = Row(
    "Which single calls were these?",
    (
        text(
            "Where are the traces?",
            "Links into the trace store for the connector and the time range above.",
            "With traces sent over OTLP (data source *Traces* above): "
            f"[calls that hit a deadline]({explore('span.otel_mcp.outcome = %22deadline%22')}) · "
            f"[failed attempts]({explore('status = error')}) · "
            f"[attempts longer than 10 s]({explore('duration > 10s')}) · "
            f"[repeated writes]({explore('span.otel_mcp.retry.unsafe = true')}).\n\n"
            "On a scrape there are no exemplars: Python's Prometheus exporter has none. The call log has a `trace_id` "
            "in every call's line; `otel-mcp report` lists them by connector and hour.",
            h=4,
        ),
    ),
)

BOARD = Board(
    uid=settings.CONNECTOR_UID,
    title="MCP / Connector",
    description="One MCP server as its clients see it.",
    variables=(
        variables.datasource(),
        variables.traces(),
        variables.job(),
        variables.instance(),
        variables.connector(multi=False),
    ),
    rows=(traffic, speed, open_now, breaker, alive, single),
)
