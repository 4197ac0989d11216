"""Every number and name that dashboards and rules agree on, in one table."""

from __future__ import annotations

from typing import Final

TAG: Final = "otel-mcp"
SCHEMA_VERSION: Final = 41
"""The classic model that Grafana 10 to 13 provision as it is; the newer layout is unreadable before 12.2."""

DEADLINES_UID: Final = "otel-mcp-deadlines"
CONNECTOR_UID: Final = "otel-mcp-connector"
HEALTH_UID: Final = "otel-mcp-health"

# --- shares of calls that ran out of time -------------------------------------------------------------------------
OBJECTIVE: Final = 0.01
"""One call in a hundred may run into its deadline; burn rates are multiples of this."""
SHARE_NOTICE: Final = 0.02
SHARE_WARN: Final = 0.05
SHARE_RED: Final = 0.10
MIN_CALLS: Final = (5, 20, 50, 100)
MIN_CALLS_DEFAULT: Final = 20
"""With 20 calls one unlucky deadline paints a cell yellow at most; with 5 a rare connector's row is solid red."""

# --- folding by hour ----------------------------------------------------------------------------------------------
BUCKET: Final = "30m"
BUCKET_SECONDS: Final = 1800
"""Hours are put together from halves: India is 5:30 off, and whole hours of UTC cannot be relabelled to that."""
SECONDS: Final = {BUCKET: BUCKET_SECONDS, "1h": 3600}
"""Of the steps in which increases are folded: half hours of raw series, hours of recorded ones."""
ZONES: Final = (
    -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9, 9.5, 10, 10.5, 11,
    12, 13,
)  # fmt: skip
DEFAULT_RANGE: Final = "now-30d"

# --- rules --------------------------------------------------------------------------------------------------------
RECORDING_INTERVAL: Final = "1m"
"""Three minutes at most, or an hour may pass without a sample in the minutes that are kept."""
KEPT_BEFORE: Final = 2
"""An hour's sums are kept in its last minutes, this many, and in the first of the next: two of three may be missed."""
CELLS_INTERVAL: Final = "3m"
HOT_WINDOW: Final = "14d"
"""Long enough for two of each weekday, short enough that a repaired cluster stops alerting within two weeks."""
HOT_DEADLINES: Final = 10
HOT_LIFT: Final = 5
HOT_HOURS: Final = 3
"""A cell has to hold three times its fullest single hour, or one long outage would count as a habit."""
BURN_FAST: Final = 14.4
"""Multiples of the objective, windows and pairs as in the SRE workbook's chapter on alerting on burn rates."""
BURN_SLOW: Final = 6
BURN_MIN_DEADLINES: Final = 5
FAILING_SHARE: Final = 0.5
FAILING_MIN_CALLS: Final = 5
FLAPPING_CLOSINGS: Final = 3
STORM_RECONNECTS: Final = 10
STORM_SHARE_OF_CALLS: Final = 0.5
ALWAYS_ON_POINTS: Final = 260
"""Of the 289 points of `[1d:5m]`: a job seen less than nine tenths of the day is no always-on job."""

RECORDED_DEADLINES: Final = "job_connector:otel_mcp_deadlines:increase1h"
RECORDED_ANSWERABLE: Final = "job_connector:otel_mcp_answerable:increase1h"
CELL_DEADLINES: Final = "job_connector_hour:otel_mcp_deadlines:sum14d"
CELL_ANSWERABLE: Final = "job_connector_hour:otel_mcp_answerable:sum14d"
CELL_FULLEST: Final = "job_connector_hour:otel_mcp_deadlines_per_hour:max14d"
RECORDED_LABEL: Final = "recorded"
"""On every recorded series. Raw series lack it, so one variable can turn either side of an `or` off at no cost."""
HOURS_LABEL: Final = "hours"
WHOLE_HOURS: Final = "whole."
HALF_HOURS: Final = "half."
"""Recorded hours begin at 0 or at 30 minutes of UTC; the zone says which. `queries.hours_of_zone` needs the points."""
