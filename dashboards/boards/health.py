"""Health: is the telemetry itself watching, and is anything up? A dead fleet must not look like an idle one."""

from __future__ import annotations

from dashboards import queries as q
from dashboards import settings, variables
from dashboards.defaults import Board, Row
from dashboards.panels import (
    BLUE,
    COLOURED_CELL,
    GREEN,
    ORANGE,
    RED,
    bad_above,
    column,
    connector_column,
    graph,
    stat,
    table,
    target,
)
from otel_mcp._ground import catalogue as c

B = q.FLEET
RANGE = "$__range"
READY = B.series(c.CONNECTOR_STATE, f'{q.STATE}="ready"')
TRYING = B.series(c.CONNECTOR_STATE, f'{q.STATE}=~"connecting|reconnecting|parked|failed"')
per_connector = f"job, {q.CONNECTOR}"
is_ready = f"max by ({per_connector}) ({READY}) == 1"
wanted_and_down = f"(max by ({per_connector}) ({TRYING}) == 1) unless ({is_ready})"

up = Row(
    "Is every connector up?",
    (
        stat(
            "How many connectors are ready?",
            "Connectors with at least one live session in at least one process.",
            f"count({is_ready})",
            "none",
            [(None, RED), (1, GREEN)],
        ),
        stat(
            "How many are down?",
            "Wanted (connecting, reconnecting, parked or failed) and ready nowhere. Connectors closed on purpose do "
            "not count.",
            f"count({wanted_and_down})",
            "none",
            bad_above(1, 2),
        ),
        stat(
            "What share of the fleet is down?",
            "Down by wanted connectors. 100 % with no calls is a dead fleet, not a quiet night.",
            f"(count({wanted_and_down}) or vector(0)) / count({is_ready} or {wanted_and_down})",
            "percentunit",
            bad_above(0.01, 0.5),
            none="nothing wanted",
        ),
        stat(
            "How many processes report?",
            "Processes whose telemetry arrives now. Fewer than you run: see the silent ones below.",
            f"count(group by (job, instance) ({B.series(c.HOOKS)}))",
            "none",
            [(None, RED), (1, BLUE)],
        ),
        table(
            "Which connector is in which state?",
            "For each connector, in how many processes it is in which state. Click a name to open it.",
            {"Processes": f"sum by ({per_connector}, {q.STATE}) ({B.series(c.CONNECTOR_STATE)}) > 0"},
            {"job": "Job", q.CONNECTOR: "Connector", q.STATE: "State"},
            overrides=[connector_column(), column("State", mappings=[], custom__cellOptions=COLOURED_CELL)],
            sort="State",
        ),
        graph(
            "How many connectors are in which state?",
            "Connectors of all processes by state. ready falling while reconnecting rises: one cause for many.",
            [target(f"sum by ({q.STATE}) ({B.series(c.CONNECTOR_STATE)})", "{{" + q.STATE + "}}")],
            "short",
        ),
        graph(
            "Is it idle or dead?",
            "Calls a minute, beside connectors that are ready. No calls and all ready: idle. No calls and none ready: "
            "dead.",
            [
                target(f"60 * {q.rate(B, c.CALLS)}", "calls a minute"),
                target(f"count({is_ready}) or vector(0)", "connectors ready"),
            ],
            "short",
        ),
        graph(
            "Which connectors are down, and when?",
            "1 while a connector is wanted and ready nowhere. Five minutes of it raise McpConnectorDown.",
            [target(wanted_and_down, "{{" + q.CONNECTOR + "}}")],
            "none",
            by_connector=True,
            most=1,
        ),
    ),
)
STATE_COLOURS = {"ready": GREEN, "connecting": "#fade2a", "reconnecting": ORANGE, "parked": RED, "failed": RED}
up.panels[4]["fieldConfig"]["overrides"][1]["properties"][0]["value"] = [
    {"type": "value", "options": {s: {"text": s, "color": colour} for s, colour in STATE_COLOURS.items()}}
]

HOOK = "hook.target"
watching = Row(
    "Is the plugin watching?",
    (
        stat(
            "How many patch points are missing or failed?",
            "Above 0, some calls may go unseen: `otel-mcp doctor` in that program's environment says which and why.",
            q.total("", B.series(c.HOOKS, f'{q.HOOK_STATE}=~"missing|failed"')),
            "none",
            bad_above(1, 1),
        ),
        stat(
            "How many of its own faults did it catch?",
            "Errors inside otel_mcp over the range. The observed program never sees them; please report them.",
            q.increase(B, c.INTERNAL_ERRORS, RANGE),
            "short",
            bad_above(1, 10),
        ),
        stat(
            "How many label values were folded into _other?",
            "Values beyond the label budget. Raise OTEL_MCP_TOOL_LABELS, or give connectors stable names.",
            q.increase(B, c.LABELS_FOLDED, RANGE),
            "short",
            bad_above(1, 50),
        ),
        stat(
            "Did the SDK drop labels?",
            "Series on which the OpenTelemetry SDK itself dropped all labels, because an instrument passed 2,000 sets. "
            "Our own budget should prevent that: a View or another instrumentor is at work.",
            f"count({q.overflow(B)})",
            "none",
            bad_above(1, 1),
        ),
        table(
            "Which patch points are active, missing or failed?",
            "Sum over all processes. missing: the library was imported and the point is not there, usually a version "
            "that we do not know yet.",
            {"Patch points": f"sum by (job, {q.HOOK_TARGET}, {q.HOOK_STATE}) ({B.series(c.HOOKS)}) > 0"},
            {"job": "Job", q.HOOK_TARGET: "Target", q.HOOK_STATE: "State"},
            sort="State",
        ),
        table(
            "Which processes fell silent in the last day?",
            "Processes that reported within a day and do not now, with the time of their last word. Short-lived "
            "ones belong here; an agent that should run does not.",
            {
                "Last seen": f"1000 * max by (job, instance) "
                f"(max_over_time(timestamp({B.series(c.HOOKS)})[1d:5m])) "
                f"unless group by (job, instance) ({B.series(c.HOOKS)})"
            },
            {"job": "Job", "instance": "Instance"},
            overrides=[column("Last seen", unit="dateTimeFromNow")],
            sort="Last seen",
        ),
        graph(
            "Where do its own faults come from?",
            "Faults an hour by component; the program's log has the line that says what was lost.",
            [target(q.increase(B, c.INTERNAL_ERRORS, "1h", by=q.COMPONENT), "{{" + q.COMPONENT + "}}")],
            "short",
            w=8,
        ),
        graph(
            "Which labels are folded?",
            "Values an hour that became _other, by label.",
            [target(q.increase(B, c.LABELS_FOLDED, "1h", by=q.FOLDED), "{{" + q.FOLDED + "}}")],
            "short",
            w=8,
        ),
        graph(
            "How many processes report over time?",
            "Processes by job. A step down that nobody planned is an outage of agents or of the scrape.",
            [target(f"count by (job) (group by (job, instance) ({B.series(c.HOOKS)}))", "{{job}}")],
            "short",
            w=8,
        ),
    ),
)

BOARD = Board(
    uid=settings.HEALTH_UID,
    title="MCP / Health",
    description="Is the telemetry watching, and is every connector up?",
    variables=(variables.datasource(), variables.job(), variables.instance()),
    rows=(up, watching),
)
