"""Why calls were cut off: what the log says itself, counted. No inference, so no p-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_mcp._report.engine import CallLog
from otel_mcp._report.groups import quantile

MIN_DEADLINES: Final = 5
MIN_PART: Final = 0.2
"""A cause behind fewer than one deadline in five is not what to work on first."""
NEAR: Final = 0.8
"""A tool whose successful calls reach this part of the limit is slow, not dead."""


@dataclass(frozen=True)
class Lock:
    """Deadlines of a connector that were spent waiting for a lock."""

    connector: str
    deadlines: int
    waiting: int
    holder: str | None
    """What held the lock most often when the wait began."""
    held: int


def locks(log: CallLog) -> list[Lock]:
    rows = log.rows("""
        WITH cut AS (SELECT connector, phase, lock_holder FROM told WHERE event = 'call' AND outcome = 'deadline'),
        sums AS (SELECT connector, count(*) AS deadlines, count(*) FILTER (phase = 'lock') AS waiting
                 FROM cut GROUP BY connector),
        held AS (SELECT connector, lock_holder, count(*) AS n FROM cut
                 WHERE phase = 'lock' AND lock_holder IS NOT NULL GROUP BY ALL),
        top AS (SELECT connector, arg_max(lock_holder, n) AS holder, max(n) AS n FROM held GROUP BY connector)
        SELECT connector, deadlines, waiting, holder, coalesce(n, 0) FROM sums LEFT JOIN top USING (connector)
        ORDER BY waiting DESC, connector
    """)
    found = [Lock(*row) for row in rows]
    return [lock for lock in found if lock.waiting >= MIN_DEADLINES and lock.waiting >= MIN_PART * lock.deadlines]


@dataclass(frozen=True)
class Limit:
    """A time limit that cuts off calls which would have ended."""

    connector: str
    tool: str
    limit: float
    """Seconds."""
    source: str | None
    calls: int
    """Calls under this limit that either ended `ok` or were cut off by it."""
    deadlines: int
    p95: float | None
    """Seconds, of those that ended `ok`: an underestimate, since the limit cut off the slower ones."""
    late: int
    """Answers that came after the call had been given up."""
    delay: float | None
    """Seconds after the limit by which 95 % of them had come."""


Durations = dict[tuple[str, str, float | None], list[tuple[float, int]]]


def limits(log: CallLog, durations: Durations) -> list[Limit]:
    """Limits that are below what the tool needs: cut calls are many, and either answers come late or `ok` calls
    already run close to the limit."""
    rows = log.rows(f"""
        WITH cut AS (
            SELECT connector, tool, "limit", mode(limit_source) AS source, count(*) AS deadlines FROM told
            WHERE event = 'call' AND outcome = 'deadline' AND "limit" > 0
              AND coalesce(phase, 'wait') IN ('wait', 'validate') GROUP BY connector, tool, "limit"
        ), late AS (
            SELECT connector, tool, "limit", count(*) AS late, quantile_disc(delay, 0.95) AS delay FROM told
            WHERE event = 'late_response' AND delay >= 0 GROUP BY connector, tool, "limit"
        )
        SELECT connector, tool, "limit", source, deadlines, coalesce(late, 0), delay
        FROM cut LEFT JOIN late USING (connector, tool, "limit")
        WHERE deadlines >= {MIN_DEADLINES} ORDER BY deadlines DESC, connector, tool, "limit"
    """)  # noqa: S608 - nothing of the user's in it
    found = []
    for connector, tool, limit, source, deadlines, late, delay in rows:
        answered = durations.get((connector, tool, limit), [])
        calls = sum(number for _, number in answered) + deadlines
        p95 = quantile(answered, 0.95)
        slow = p95 is not None and p95 >= NEAR * limit
        if late >= max(MIN_DEADLINES, MIN_PART * deadlines) or (slow and deadlines >= 0.01 * calls):
            found.append(Limit(connector, tool, limit, source, calls, deadlines, p95, late, delay))
    return found


@dataclass(frozen=True)
class Retry:
    """Calls that were sent again though nothing says that is safe."""

    connector: str
    tool: str
    calls: int
    deadlines: int
    late: int
    """Answers to attempts that had been given up: these were done, so a second one did it twice."""


def retries(log: CallLog) -> list[Retry]:
    return [
        Retry(*row)
        for row in log.rows("""
            WITH unsafe AS (SELECT connector, tool, outcome, who FROM told WHERE event = 'call' AND retry_unsafe),
            late AS (SELECT DISTINCT who FROM told WHERE event = 'late_response')
            SELECT connector, tool, count(*), count(*) FILTER (outcome = 'deadline'), count(late.who)
            FROM unsafe LEFT JOIN late USING (who) GROUP BY connector, tool ORDER BY count(*) DESC, connector, tool
        """)
    ]


@dataclass(frozen=True)
class NeverEnded:
    """Calls that were reported as waiting and have no end in the log."""

    connector: str
    tool: str
    calls: int
    oldest: float
    """Seconds, when last reported."""
    without_limit: int
    retired: int
    """On a session that had been replaced."""


def never_ended(log: CallLog) -> list[NeverEnded]:
    return [
        NeverEnded(*row)
        for row in log.rows("""
            WITH waiting AS (
                SELECT who, any_value(connector) AS connector, any_value(tool) AS tool, max(age) AS age,
                       bool_and(coalesce("limit", 0) = 0) AS unlimited, bool_or(coalesce(retired, false)) AS retired
                FROM told WHERE event = 'still_waiting' GROUP BY who
            )
            SELECT connector, tool, count(*), coalesce(max(age), 0), count(*) FILTER (unlimited),
                   count(*) FILTER (retired)
            FROM waiting ANTI JOIN ended USING (who)
            GROUP BY connector, tool ORDER BY count(*) DESC, connector, tool
        """)
    ]


@dataclass(frozen=True)
class Share:
    """What most of some deadlines have in common."""

    value: str
    number: int
    of: int


def leading(log: CallLog, column: str, where: str) -> Share | None:
    """The value of a column that most deadlines under a condition share; None unless it is more than half."""
    rows = log.rows(
        f"SELECT {column}, count(*) FROM told WHERE event = 'call' AND outcome = 'deadline' AND {where} "  # noqa: S608
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    total = sum(row[1] for row in rows)
    if not rows or rows[0][0] in (None, "") or rows[0][1] * 2 <= total:
        return None
    return Share(str(rows[0][0]), rows[0][1], total)


def overrun(log: CallLog, first: int, last: int) -> float | None:
    """Seconds by which the deadlines of some slots ended after their limit: the median; None of none."""
    row = log.rows(
        "SELECT median(elapsed - \"limit\") FROM told WHERE event = 'call' AND outcome = 'deadline' "  # noqa: S608
        f'AND "limit" > 0 AND slot BETWEEN {int(first)} AND {int(last)}'
    )
    found: float | None = row[0][0]
    return found


def expired(log: CallLog) -> dict[str, int]:
    """Calls that failed because the server had forgotten the session, by connector."""
    return dict(
        log.rows("""
            SELECT connector, count(*) FROM told WHERE event = 'call' AND error_type = 'session_expired'
            GROUP BY connector
        """)
    )
