"""The questions put to the columnar engine, as SQL. The only values of a user's in it are moments and quoted paths.

Parsing JSON is most of the work, so the lines are parsed a single time: one query counts all calls in several groupings
at once, and keeps beside them what is needed line by line. `TABLES` then takes its result apart.
"""

# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from otel_mcp._ground.names import UNKNOWN
from otel_mcp._report.clock import SLOT

MAX_LINE: Final = 1 << 20
"""Bytes. Our lines are at most 4,096; what is longer than this is foreign. It also sets the size of read buffers."""
AGES: Final = (60.0, 600.0, 3600.0, 21600.0, 86400.0)
IDLES: Final = (10.0, 60.0, 300.0, 900.0, 3600.0)
"""Seconds: upper ends of the bands; the last band has none. Servers and proxies drop idle sessions after 1, 5, 15 or
60 minutes by default."""
STEPS: Final = 16
"""Durations are counted in steps of 2^(1/16), so a quantile is right to 4.4 %."""
LONG: Final = 5.0
"""Seconds. Plain calls that took this long are kept by their identity: one of them may have been reported as waiting
before it ended. The first report comes after 30 s by default."""

COLUMNS: Final = {
    "event": "VARCHAR", "time": "TIMESTAMPTZ", "instance": "VARCHAR", "pid": "BIGINT", "id": "VARCHAR",
    "connector": "VARCHAR", "tool": "VARCHAR", "method": "VARCHAR", "outcome": "VARCHAR", "elapsed": "DOUBLE",
    "limit": "DOUBLE", "limit_source": "VARCHAR", "phase": "VARCHAR", "lock_holder": "VARCHAR",
    "session_age": "DOUBLE", "idle": "DOUBLE", "keepalive_overlap": "BOOLEAN", "retry_unsafe": "BOOLEAN",
    "error_type": "VARCHAR", "age": "DOUBLE", "delay": "DOUBLE", "retired": "BOOLEAN", "simulated": "BOOLEAN",
}  # fmt: skip
_KEPT: Final = (
    "event", "connector", "tool", "outcome", "elapsed", "limit", "limit_source", "phase", "lock_holder",
    "retry_unsafe", "error_type", "age", "delay", "retired",
)  # fmt: skip
_MADE: Final = {"slot": "BIGINT", "who": "UBIGINT"}

# Numbers a foreign writer may have put there must not overflow the engine's dates.
_OURS: Final = "event IS NOT NULL AND \"time\" BETWEEN TIMESTAMPTZ '1970-01-01' AND TIMESTAMPTZ '2200-01-01'"
_ENDED: Final = (
    f'CASE WHEN {_OURS} THEN epoch_ms("time")'
    " + CASE WHEN elapsed BETWEEN 0 AND 1e9 THEN CAST(elapsed * 1000 AS BIGINT) ELSE 0 END END"
)
"""Milliseconds since 1970; NULL of a line that is not ours."""
_WHO: Final = "hash(coalesce(instance, pid::VARCHAR), id)"

# What a line is. The order matters: all from `_OK` on are calls that count.
_FOREIGN, _ASIDE, _OK, _DEADLINE, _LEFT_OUT = range(5)
_KIND: Final = f"""
    CASE WHEN ended IS NULL THEN {_FOREIGN} WHEN event <> 'call' OR outcome IS NULL OR NOT inside THEN {_ASIDE}
         WHEN outcome = 'deadline' THEN {_DEADLINE} WHEN outcome IN ('rejected', 'cancelled') THEN {_LEFT_OUT}
         ELSE {_OK} END::TINYINT
"""
_TOLD: Final = """
    ended IS NOT NULL AND inside AND (event IN ('late_response', 'still_waiting')
    OR event = 'call' AND (outcome <> 'ok' OR coalesce(retry_unsafe, false)))
"""

Files = Mapping[str, Sequence[str]]
"""Compression → paths."""


def lines(files: Files) -> str:
    """The lines with their fields; a line that is no JSON object has only NULLs."""
    columns = ", ".join(f"\"{name}\": '{kind}'" for name, kind in COLUMNS.items())
    return " UNION ALL ".join(
        f"SELECT * FROM read_json([{', '.join(map(_text, paths))}], compression='{packing}', ignore_errors=true,"
        f" format='newline_delimited', maximum_object_size={MAX_LINE}, columns={{{columns}}})"
        for packing, paths in files.items()
        if paths
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _window(since: datetime | None, until: datetime | None) -> str:
    bounds = [f"ended {sign} {bound.timestamp() * 1000}" for sign, bound in ((">=", since), ("<", until)) if bound]
    return " AND ".join(bounds) or "true"


def _band(column: str, bounds: Sequence[float]) -> str:
    cases = " ".join(f"WHEN {column} < {bound} THEN {number}" for number, bound in enumerate(bounds))
    return f"CASE WHEN {column} IS NULL THEN NULL {cases} ELSE {len(bounds)} END::TINYINT"


def counted(files: Files, since: datetime | None, until: datetime | None, long: float) -> str:
    """Read all lines and make `counted`: each row is of one of four groupings, named by its column `grouped`.

    The grouping `kept` is how single lines come out of the same pass: plain calls have nothing to keep and fall into
    one row, and the engine moves to the disk what does not fit into memory, as with any grouping. As JSON, since the
    engine groups one text much faster than a row of fields.
    """
    kept = ", ".join(f'"{name}": "{name}"' for name in _KEPT) + f", slot: slot, who: {_WHO}"
    return f"""
        CREATE OR REPLACE TEMP TABLE counted AS
        WITH lines AS (
            SELECT * REPLACE (coalesce(connector, '{UNKNOWN}') AS connector, coalesce(tool, method, '') AS tool),
                   {_ENDED} AS ended
            FROM ({lines(files)})
        ), judged AS (
            SELECT *, {_window(since, until)} AS inside, ended // {SLOT * 1000} AS slot, {_KIND} AS kind FROM lines
        ), sorted AS (
            SELECT *, kind >= {_OK} AS is_call, {_TOLD} AS is_told FROM judged
        ), shaped AS (
            SELECT kind, ended, simulated,
                   CASE WHEN is_call THEN connector END AS connector, CASE WHEN is_call THEN tool END AS tool,
                   CASE WHEN is_call THEN slot END AS slot, CASE WHEN is_call THEN ended // 86400000 END AS utc_day,
                   {_band("session_age", AGES)} AS age_band, {_band("idle", IDLES)} AS idle_band,
                   keepalive_overlap AS overlap, outcome, "limit",
                   CASE WHEN elapsed BETWEEN 1e-6 AND 1e9 THEN round(log2(elapsed) * {STEPS})
                        ELSE -999 END::SMALLINT AS step,
                   CASE WHEN is_told THEN to_json({{{kept}}})::VARCHAR END AS told,
                   CASE WHEN is_call AND NOT is_told AND coalesce(elapsed >= {long}, true) THEN {_WHO} END AS long
            FROM sorted
        )
        SELECT
            CASE WHEN grouping(slot) = 0 THEN 'slots' WHEN grouping(age_band) = 0 THEN 'bands'
                 WHEN grouping(step) = 0 THEN 'durations' ELSE 'kept' END AS grouped,
            kind, connector, tool, slot, utc_day, age_band, idle_band, overlap, outcome, "limit", step, told, long,
            count(*) AS lines, min(ended) AS first, max(ended) AS last, bool_or(simulated) AS simulated
        FROM shaped
        GROUP BY GROUPING SETS (
            (kind, connector, tool, slot), (kind, connector, utc_day, age_band, idle_band, overlap),
            (connector, tool, outcome, "limit", step), (told, long)
        )
    """


_SHAPE: Final = ", ".join(
    f'"{name}": "{kind}"' for name, kind in ({name: COLUMNS[name] for name in _KEPT} | _MADE).items()
)
_SUMS: Final = f"""
    sum(lines)::BIGINT AS calls, coalesce(sum(lines) FILTER (kind = {_DEADLINE}), 0)::BIGINT AS deadlines,
    coalesce(sum(lines) FILTER (kind = {_LEFT_OUT}), 0)::BIGINT AS left_out
"""
TABLES: Final = (
    f"""CREATE OR REPLACE TEMP TABLE totals AS
        SELECT coalesce(sum(lines), 0)::BIGINT AS lines,
               coalesce(sum(lines) FILTER (kind > {_FOREIGN}), 0)::BIGINT AS ours,
               min(first) FILTER (kind >= {_OK}) / 1000 AS first, max(last) FILTER (kind >= {_OK}) / 1000 AS last,
               bool_or(simulated) AS simulated
        FROM counted WHERE grouped = 'slots'""",
    f"""CREATE OR REPLACE TEMP TABLE slots AS
        SELECT connector, tool, slot, {_SUMS} FROM counted
        WHERE grouped = 'slots' AND connector IS NOT NULL GROUP BY ALL""",
    f"""CREATE OR REPLACE TEMP TABLE bands AS
        SELECT connector, utc_day, age_band, idle_band, overlap, {_SUMS} FROM counted
        WHERE grouped = 'bands' AND connector IS NOT NULL GROUP BY ALL""",
    """CREATE OR REPLACE TEMP TABLE durations AS
        SELECT connector, tool, outcome, "limit", step, lines AS calls FROM counted
        WHERE grouped = 'durations' AND connector IS NOT NULL""",
    # Lines that are equal in all that is kept of them are one row of the grouping, and as many here.
    f"""CREATE OR REPLACE TEMP TABLE told AS
        WITH parsed AS (
            SELECT json_transform(told, '{{{_SHAPE}}}') AS line, lines FROM counted
            WHERE grouped = 'kept' AND told IS NOT NULL
        )
        SELECT line.* FROM (SELECT line, unnest(range(lines)) FROM parsed)""",
    """CREATE OR REPLACE TEMP TABLE ended AS
        SELECT long AS who FROM counted WHERE grouped = 'kept' AND long IS NOT NULL
        UNION ALL SELECT who FROM told WHERE event = 'call' AND outcome IS NOT NULL""",
    "DROP TABLE counted",
)
"""What the report asks: `totals`, calls in `slots`, `bands` and `durations`, single lines in `told` (what is no plain
`ok` call), and in `ended` the calls that may have been reported as waiting before."""

SOONEST: Final = "SELECT coalesce(min(coalesce(age, 0)), 'inf'::DOUBLE) FROM told WHERE event = 'still_waiting'"
"""The age at which a call was first reported as waiting, the lowest of all."""
