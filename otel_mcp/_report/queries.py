"""The questions put to the columnar engine, as SQL. The only values of a user's in it are moments and quoted paths.

Two tables are made from the lines. `told` keeps, line by line, what is no plain `ok` call. `cube` counts all calls in
several groupings at once, so that the lines are parsed a single time; its column `grouped` says which one a row is of.
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

_CALL: Final = {
    "event": "VARCHAR", "time": "TIMESTAMPTZ", "instance": "VARCHAR", "pid": "BIGINT", "id": "VARCHAR",
    "connector": "VARCHAR", "tool": "VARCHAR", "method": "VARCHAR", "outcome": "VARCHAR", "elapsed": "DOUBLE",
    "limit": "DOUBLE", "session_age": "DOUBLE", "idle": "DOUBLE", "keepalive_overlap": "BOOLEAN",
    "simulated": "BOOLEAN",
}  # fmt: skip
_TOLD: Final = {
    "event": "VARCHAR", "time": "VARCHAR", "instance": "VARCHAR", "pid": "BIGINT", "id": "VARCHAR",
    "connector": "VARCHAR", "tool": "VARCHAR", "method": "VARCHAR", "outcome": "VARCHAR", "elapsed": "DOUBLE",
    "limit": "DOUBLE", "limit_source": "VARCHAR", "phase": "VARCHAR", "lock_holder": "VARCHAR",
    "retry_unsafe": "BOOLEAN", "error_type": "VARCHAR", "age": "DOUBLE", "delay": "DOUBLE", "retired": "BOOLEAN",
}  # fmt: skip

# Numbers a foreign writer may have put there must not overflow the engine's dates.
_OURS: Final = "event IS NOT NULL AND \"time\" BETWEEN TIMESTAMPTZ '1970-01-01' AND TIMESTAMPTZ '2200-01-01'"
_ENDED: Final = (
    f'CASE WHEN {_OURS} THEN epoch_ms("time")'
    " + CASE WHEN elapsed BETWEEN 0 AND 1e9 THEN CAST(elapsed * 1000 AS BIGINT) ELSE 0 END END"
)
"""Milliseconds since 1970; NULL of a line that is not ours."""
_WHO: Final = "hash(coalesce(instance, pid::VARCHAR), id)"
_TOOL: Final = "coalesce(tool, method, '')"

Files = Mapping[str, Sequence[str]]
"""Compression → paths."""


def _read(files: Files, reader: str, options: str) -> str:
    return " UNION ALL ".join(
        f"SELECT * FROM {reader}([{', '.join(map(_text, paths))}],"
        f" compression='{packing}', ignore_errors=true, {options})"
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


def told(files: Files, since: datetime | None, until: datetime | None) -> str:
    """Everything but plain `ok` calls. Lines are read as text first: most need no parsing to be left out."""
    lines = _read(
        files,
        "read_csv",
        f"columns={{'line': 'VARCHAR'}}, delim='\x01', quote='', escape='', header=false, auto_detect=false,"
        f" max_line_size={MAX_LINE}",
    )
    shape = ", ".join(f'"{name}": "{kind}"' for name, kind in _TOLD.items())
    return f"""
        CREATE OR REPLACE TEMP TABLE told AS
        WITH kept AS (
            SELECT CASE WHEN json_valid(line) THEN json_transform(line, '{{{shape}}}') END AS f FROM ({lines})
            WHERE NOT contains(line, '"outcome":"ok"') OR contains(line, '"retry_unsafe":true')
               OR NOT contains(line, '"event":"call"')
        ), parsed AS (
            SELECT f.* EXCLUDE ("time"), try_cast(f."time" AS TIMESTAMPTZ) AS "time" FROM kept WHERE f IS NOT NULL
        ), dated AS (
            SELECT * EXCLUDE (connector, tool), coalesce(connector, '{UNKNOWN}') AS connector, {_TOOL} AS tool,
                   {_WHO} AS who, {_ENDED} AS ended
            FROM parsed
        )
        SELECT *, ended // {SLOT * 1000} AS slot FROM dated WHERE ended IS NOT NULL AND {_window(since, until)}
    """


WAITS: Final = "CREATE OR REPLACE TEMP TABLE waits AS SELECT DISTINCT who FROM told WHERE event = 'still_waiting'"


def cube(files: Files, since: datetime | None, until: datetime | None) -> str:
    """All calls, counted in several groupings in one pass."""
    columns = ", ".join(f"\"{name}\": '{kind}'" for name, kind in _CALL.items())
    lines = _read(
        files,
        "read_json",
        f"format='newline_delimited', maximum_object_size={MAX_LINE}, columns={{{columns}}}",
    )
    return f"""
        CREATE OR REPLACE TEMP TABLE cube AS
        WITH lines AS (
            SELECT *, {_ENDED} AS ended FROM ({lines})
        ), counted AS (
            SELECT *, ended IS NOT NULL AS ours,
                   ended IS NOT NULL AND event = 'call' AND outcome IS NOT NULL AND {_window(since, until)} AS is_call
            FROM lines
        ), shaped AS (
            SELECT CASE WHEN is_call THEN coalesce(connector, '{UNKNOWN}') END AS connector, {_TOOL} AS tool,
                   ended // {SLOT * 1000} AS slot, ended // 86400000 AS utc_day,
                   {_band("session_age", AGES)} AS age_band, {_band("idle", IDLES)} AS idle_band,
                   keepalive_overlap AS overlap, outcome, "limit", waits.who AS waited,
                   CASE WHEN elapsed BETWEEN 1e-6 AND 1e9 THEN round(log2(elapsed) * {STEPS})
                        ELSE -999 END::SMALLINT AS step,
                   ended, ours, coalesce(is_call, false) AS is_call, simulated
            FROM counted LEFT JOIN waits ON is_call AND waits.who = {_WHO}
        )
        SELECT
            CASE WHEN grouping(slot) = 0 THEN 'slots' WHEN grouping(age_band) = 0 THEN 'ages'
                 WHEN grouping(idle_band) = 0 THEN 'idles' WHEN grouping(overlap) = 0 THEN 'overlaps'
                 WHEN grouping(step) = 0 THEN 'durations' WHEN grouping(waited) = 0 THEN 'waited' ELSE 'all' END
                AS grouped,
            connector, tool, slot, utc_day, age_band, idle_band, overlap, outcome, "limit", step, waited,
            count(*) FILTER (is_call) AS calls,
            count(*) FILTER (is_call AND outcome = 'deadline') AS deadlines,
            count(*) FILTER (is_call AND outcome IN ('rejected', 'cancelled')) AS left_out,
            count(*) AS lines, count(*) FILTER (ours) AS ours, bool_or(simulated) AS simulated,
            min(ended) FILTER (is_call) / 1000 AS first, max(ended) FILTER (is_call) / 1000 AS last
        FROM shaped
        GROUP BY GROUPING SETS (
            (connector, tool, slot), (connector, utc_day, age_band), (connector, utc_day, idle_band),
            (connector, utc_day, overlap), (connector, tool, outcome, "limit", step), (waited), ()
        )
    """
