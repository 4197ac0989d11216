"""Deadlines: which connector runs out of time, at which hour, on whose clock, and would waiting have helped."""

from __future__ import annotations

from dashboards import queries as q
from dashboards import settings, variables
from dashboards.defaults import Board, Row
from dashboards.panels import (
    PLAIN,
    PLAIN_CELL,
    SHARE_STEPS,
    bad_above,
    column,
    connector_column,
    days,
    graph,
    mapping,
    matrix,
    stat,
    table,
    target,
)
from otel_mcp._ground import catalogue as c

B = q.BOARD
RANGE = "$__range"
NAME = {q.CONNECTOR: "Connector"}
SHARE_CELL = {"unit": "percentunit", "decimals": 1}
WEEKDAYS = [(n, day, "transparent") for n, day in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))]

deadlines_in_range = q.increase(B, c.CALLS, RANGE, q.DEADLINE, by=q.CONNECTOR)

now = Row(
    "Is anything running out of time?",
    (
        stat(
            "What share of calls hit a deadline in the last hour?",
            "Calls that a time limit on our side cut off, of all that could have been answered (refused and cancelled "
            "ones do not count). Above 1 %: look below for the connector. No data: no call in the last hour.",
            q.deadline_share(B, "1h", by=""),
            "percentunit",
            bad_above(settings.OBJECTIVE, settings.SHARE_WARN),
            none="no calls",
        ),
        stat(
            "And in the whole time range?",
            "The same share over the range chosen at the top right. Far below the last hour's: it is getting worse.",
            q.counted_share(by=""),
            "percentunit",
            bad_above(settings.OBJECTIVE, settings.SHARE_WARN),
            none="no calls",
        ),
        stat(
            "How many connectors are above 1 % this hour?",
            "One connector: look at its server. Most of them at once: look at what they share – host, network, lock.",
            f"count({q.deadline_share(B, '1h')} > {settings.OBJECTIVE})",
            "none",
            bad_above(1, 3),
        ),
        stat(
            "How many calls are past their own limit right now?",
            "Open five seconds past their limit, or past ten minutes without one. Any such call means that the limit "
            "did not work: see the runbook of McpCallStuck.",
            q.total("", B.series(c.CALL_OVERDUE)),
            "none",
            bad_above(1, 1),
        ),
        graph(
            "Which connector's deadline share is rising?",
            "Share of the last hour's calls that ran out of time, for each connector. Click a name to open it. A line "
            "that rises at the same time every day belongs to the matrix below.",
            [target(q.deadline_share(B, "1h"), "{{" + q.CONNECTOR + "}}")],
            "percentunit",
            SHARE_STEPS,
            w=14,
            by_connector=True,
        ),
        table(
            "Which connectors lost the most calls to deadlines?",
            "Counts over the time range. A high share of few calls matters less than a middling one of many; both "
            "columns are here for that reason.",
            {
                "Calls": q.counted_calls(q.ANSWERABLE, settings.RECORDED_ANSWERABLE),
                "Deadlines": q.counted_calls(q.DEADLINE, settings.RECORDED_DEADLINES),
                "Share": q.counted_share(),
                "Limit": f"max by ({q.CONNECTOR}) ({B.series(c.LIMIT)})",
            },
            NAME,
            overrides=[
                connector_column(),
                column("Calls", decimals=0),
                column("Deadlines", decimals=0),
                column("Share", **SHARE_CELL),
                column("Limit", unit="s"),
            ],
            sort="Deadlines",
            w=10,
        ),
    ),
)

matrix_row = Row(
    "Which connector, at which hour of the day?",
    (
        matrix(
            "At which hour of the day does which connector run out of time?",
            "Share of each connector's calls in that hour of the day that hit a deadline, over the whole time range. "
            "Empty: fewer calls than the minimum, or below 2 %. A red cell in a pale row is a cluster: ask what else "
            "runs at that hour on that server. A red row is a slow connector; a red column is a shared cause. Hours "
            "are counted in the zone chosen above, at a fixed offset: across a change of the clocks a local habit "
            "spreads over two columns.",
            q.folded_share(f"{q.CONNECTOR}, hour"),
            q.CONNECTOR,
            "Connector",
            connector_column(custom__width=110, custom__align="left"),
        ),
    ),
)

habit = Row(
    "Every day, or once?",
    (
        days(
            "On which days did those hours run out of time?",
            "One column a day, one row an hour, of the chosen connectors together. A horizontal band is a habit, a "
            "single dark block an outage. Days begin at midnight UTC. Choose one connector to see its own habit.",
            q.folded_share("hour", window="23h59m", guard="1"),
        ),
        matrix(
            "On which weekday at which hour?",
            "Deadline share of the chosen connectors together. One dark row is a weekly job; a dark column on working "
            "days only is an office's habit. In a month each cell has only four or five hours behind it.",
            q.folded_share("weekday, hour"),
            "weekday",
            "Weekday",
            column(
                "Weekday", mappings=mapping(WEEKDAYS), custom__width=110, custom__align="left",
                custom__cellOptions=PLAIN_CELL,
            ),
            h=9,
        ),
    ),
    collapsed=True,
)  # fmt: skip

cut_off_by = f"{q.CONNECTOR}, {q.PHASE}, {q.LIMIT_SOURCE}"
cut_off_in_range = q.increase(B, c.CUTOFFS, RANGE, q.DEADLINE, by=cut_off_by)
where = Row(
    "Where did the time go, on whose clock, and what lay beneath?",
    (
        table(
            "In which phase did the time run out, and whose limit was it?",
            "Deadlines over the range by the phase that took the largest part of the time. wait: the server is slow. "
            "lock: our own host queued the call. connect: the session was not there. write: the server stopped "
            "reading. validate: the SDK's hidden tools/list. The limit is the one that fired: sdk, host and caller "
            "are settings you own.",
            {"Deadlines": f"{cut_off_in_range} > 0"},
            {**NAME, q.PHASE: "Phase", q.LIMIT_SOURCE: "Whose limit"},
            overrides=[connector_column(), column("Deadlines", decimals=0)],
            sort="Deadlines",
        ),
        table(
            "What went wrong beneath the calls?",
            "Root causes over the range at the moment they happened, fatal or not. process_exit or stream_ended "
            "beside deadlines: the server dies and callers wait for nothing. http_429: it is limiting you. http_401: "
            "a token lapsed.",
            {"Faults": f"{q.increase(B, c.FAULTS, RANGE, by=f'{q.CONNECTOR}, {q.CAUSE}')} > 0"},
            {**NAME, q.CAUSE: "Cause"},
            overrides=[connector_column(), column("Faults", decimals=0)],
            sort="Faults",
        ),
        graph(
            "When did the phases run out of time?",
            "Deadlines an hour by phase, all chosen connectors together.",
            [target(q.increase(B, c.CUTOFFS, "1h", q.DEADLINE, by=q.PHASE), "{{" + q.PHASE + "}}")],
            "short",
        ),
        graph(
            "When did the faults happen?",
            "Root causes an hour. A fault line that rises just before the deadline share names the reason.",
            [target(q.increase(B, c.FAULTS, "1h", by=q.CAUSE), "{{" + q.CAUSE + "}}")],
            "short",
        ),
    ),
)

late_in_range = q.increase(B, c.LATE_RESPONSE_DELAY, RANGE, by=q.CONNECTOR, suffix="_count")
longer = Row(
    "Would a longer limit have helped?",
    (
        table(
            "How many answers came after we had given up, and how late?",
            "Answered late: of the deadlines, how many were answered after all. Near 100 % with a small delay: raise "
            "the limit by that delay. Near 0 %: a longer limit only means a longer wait. The delay is read from "
            "buckets; its true value lies within the bucket's bounds.",
            {
                "Deadlines": deadlines_in_range,
                "Late answers": late_in_range,
                "Answered late": f"{late_in_range} / ({deadlines_in_range} > 0)",
                "Half were late by": q.quantile(0.5, B, c.LATE_RESPONSE_DELAY, RANGE, by=q.CONNECTOR),
                "Nine in ten by": q.quantile(0.9, B, c.LATE_RESPONSE_DELAY, RANGE, by=q.CONNECTOR),
                "Limit now": f"max by ({q.CONNECTOR}) ({B.series(c.LIMIT)})",
            },
            NAME,
            overrides=[
                connector_column(),
                column("Deadlines", decimals=0),
                column("Late answers", decimals=0),
                column("Answered late", **SHARE_CELL),
                column("Half were late by", unit="s"),
                column("Nine in ten by", unit="s"),
                column("Limit now", unit="s"),
            ],
            sort="Late answers",
            w=24,
        ),
    ),
)

lock_deadlines = q.increase(B, c.CUTOFFS, RANGE, q.DEADLINE, f'{q.PHASE}="lock"', by=q.CONNECTOR)
own_lock = Row(
    "Is it our own lock?",
    (
        table(
            "How much of the time do calls wait for our own lock?",
            "Lock's share: of all the time that calls took, the part spent waiting for a lock of the host. Above a "
            "tenth, calls queue behind each other. Deadlines at the lock were never sent to the server: a longer "
            "server limit cannot help them.",
            {
                "Lock's share of the time": q.lock_share(B, RANGE),
                "Deadlines at the lock": lock_deadlines,
                "Of all its deadlines": f"{lock_deadlines} / ({deadlines_in_range} > 0)",
            },
            NAME,
            overrides=[
                connector_column(),
                column("Lock's share of the time", **SHARE_CELL),
                column("Deadlines at the lock", decimals=0),
                column("Of all its deadlines", **SHARE_CELL),
            ],
            sort="Lock's share of the time",
        ),
        graph(
            "When does the lock eat the time?",
            "Lock wait as a share of the calls' time over the last hour. Peaks at the matrix' red hours mean that the "
            "cluster is made at home.",
            [target(q.lock_share(B, "1h"), "{{" + q.CONNECTOR + "}}")],
            "percentunit",
            [PLAIN[0], (0.1, "#ff9830"), (0.5, "#f2495c")],
            by_connector=True,
        ),
        graph(
            "How many calls wait for a lock now?",
            "Calls in the queue at each moment. More than one for long: something holds the lock; still_waiting lines "
            "of the call log name the holder.",
            [target(q.total(q.CONNECTOR, B.series(c.LOCK_WAITING)), "{{" + q.CONNECTOR + "}}")],
            "short",
            w=24,
            h=6,
            by_connector=True,
        ),
    ),
)

BOARD = Board(
    uid=settings.DEADLINES_UID,
    title="MCP / Deadlines",
    description="Do deadlines cluster on a connector or on a time of day, and why?",
    variables=(
        variables.datasource(),
        variables.job(),
        variables.instance(),
        variables.connector(multi=True),
        variables.zone(),
        variables.min_calls(),
        variables.recorded(),
    ),
    rows=(now, matrix_row, habit, where, longer, own_lock),
    start=settings.DEFAULT_RANGE,
)
