"""Thirty days of calls that never happened, with patterns planted in them and the truth about each kept.

Used for the first evening of the demonstration, when a matrix of 30 days would be empty, and by the tests, which
look for exactly the cells that were planted. Every name begins with `simulated-`, so that nobody takes it for real.
"""

from __future__ import annotations

import bisect
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Final, NamedTuple

from dashboards.settings import BUCKET_SECONDS
from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._ground.catalogue import Instrument
from otel_mcp._ground.outcomes import Outcome

JOB: Final = "simulated-history"
MINUTE: Final = 60
SPARSE: Final = 10
"""Minutes. Only the counters that the matrix folds are written every minute; the other counters less often."""
LOOKBACK: Final = 5
"""Minutes that Prometheus looks back for a gauge's last value."""
RECENT_DAYS: Final = 1
"""Bucketed durations and gauges exist for the last day only: panels read them over hours, not over a month."""
INDIA: Final = timezone(timedelta(hours=5, minutes=30))


@dataclass(frozen=True)
class Cut:
    """How likely a call is cut off at a moment, in which phase, and whose limit does it."""

    share: float
    phase: str = "wait"
    source: str = "sdk"


@dataclass(frozen=True)
class Connector:
    name: str
    calls_per_hour: float
    limit: float
    cut: Callable[[datetime], Cut]
    processes: int = 1
    answers_late: float = 0.0
    """Share of its deadlines that are answered after all, between one and nine seconds too late."""
    dead: bool = False


CALM: Final = Cut(0.003)
HAPPENING: Final = (Outcome.OK, Outcome.TOOL_ERROR, Outcome.DEADLINE)
"""The outcomes of a live connector's calls here; a dead one's are all rejected."""


def odoo(moment: datetime) -> Cut:
    return Cut(0.45) if moment.hour == 6 else CALM


def payroll(moment: datetime) -> Cut:
    return Cut(0.4) if moment.astimezone(INDIA).hour == 9 else CALM


def files(moment: datetime) -> Cut:
    return Cut(0.35, "lock", "host") if moment.hour == 11 else Cut(0.003, "lock", "host")


def warehouse_of(start: datetime) -> Callable[[datetime], Cut]:
    """Healthy but for three hours, once."""
    broken = start + timedelta(days=12, hours=13)

    def warehouse(moment: datetime) -> Cut:
        return Cut(1.0) if broken <= moment < broken + timedelta(hours=3) else CALM

    return warehouse


def always(cut: Cut) -> Callable[[datetime], Cut]:
    return lambda _: cut


def connectors(start: datetime) -> tuple[Connector, ...]:
    """What is planted: a habit in UTC, a habit in a half-hour zone, a lock, an outage, a rare and a dead one."""
    return (
        Connector("simulated-odoo", 60, 30.0, odoo, processes=2, answers_late=0.8),
        Connector("simulated-payroll", 40, 30.0, payroll, answers_late=0.1),
        Connector("simulated-files", 40, 20.0, files),
        Connector("simulated-warehouse", 30, 30.0, warehouse_of(start)),
        Connector("simulated-search", 90, 10.0, always(Cut(0.008))),
        Connector("simulated-rare", 0.2, 30.0, always(Cut(0.2))),
        Connector("simulated-dead", 2, 30.0, always(Cut(0.0)), dead=True),
    )


@dataclass
class Truth:
    """Deadlines and answerable calls by connector and half hour, named by the seconds since the epoch of its start."""

    deadlines: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    at_an_edge: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    """Deadlines in the first or last minute of the half hour: a sample at its edge may or may not hold them."""
    answerable: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))

    def note(self, connector: str, moment: int, outcome: Outcome) -> None:
        key = connector, moment - moment % BUCKET_SECONDS
        if outcome is Outcome.DEADLINE:
            self.deadlines[key] += 1
            self.at_an_edge[key] += moment % BUCKET_SECONDS in (0, BUCKET_SECONDS - MINUTE)
        if outcome not in (Outcome.REJECTED, Outcome.CANCELLED):
            self.answerable[key] += 1


class HistogramNames(NamedTuple):
    """The series of one histogram."""

    buckets: tuple[str, ...]
    sum: str
    count: str


class Simulation:
    """Calls minute by minute, kept as the cumulative series that a scrape of the agents would have shown."""

    def __init__(self, end: datetime, days: int = 30, seed: int = 6) -> None:
        """`end` is cut to the whole hour; nothing is told of it or after it."""
        self.end = int(end.timestamp()) // 3600 * 3600
        self.start = self.end - days * 86400
        self.recent_from = self.end - RECENT_DAYS * 86400
        self.truth = Truth()
        self.connectors = connectors(datetime.fromtimestamp(self.start, timezone.utc))
        self._random = random.Random(seed)  # noqa: S311 - invented calls, no cryptography
        self._often: dict[str, float] = {}
        self._sparse: dict[str, float] = {}
        self._recent: dict[str, float] = {}
        self._histograms: dict[tuple[str, ...], HistogramNames] = {}
        for connector in self.connectors:
            self._register(connector)

    def samples(self) -> Iterator[tuple[int, dict[str, float]]]:
        """(time, series to value) for every minute, the first one before any call."""
        yield self.start, {**self._often, **self._sparse}
        for minute in range(self.start, self.end, MINUTE):
            for connector in self.connectors:
                self._minute(connector, minute)
            # Told at the end of the minute: a sample at 07:00:00 holds what happened before seven.
            now = minute + MINUTE
            shown = self._often
            if now // MINUTE % SPARSE == 0:
                shown = shown | self._sparse
            if now // MINUTE % LOOKBACK == 0 and now >= self.recent_from:
                shown = shown | self._recent
            yield now, shown

    def _minute(self, connector: Connector, minute: int) -> None:
        expected = connector.calls_per_hour / 60
        count = int(expected) + (self._random.random() < expected % 1)
        cut = connector.cut(datetime.fromtimestamp(minute, timezone.utc))
        for _ in range(count):
            self._call(connector, minute, cut)

    def _call(self, connector: Connector, minute: int, cut: Cut) -> None:
        outcome = self._outcome(connector, cut)
        self.truth.note(connector.name, minute, outcome)
        who = {n.CONNECTOR: connector.name, n.OUTCOME: outcome.value}
        process = self._random.randrange(connector.processes)
        self._add(self._often, c.CALLS, who, process=process)
        if outcome is Outcome.REJECTED:
            self._add(self._sparse, c.CUTOFFS, who | {n.PHASE: "none", n.LIMIT_SOURCE: "none"})
            return
        took = self._random.lognormvariate(-0.5, 0.8)
        if outcome is Outcome.DEADLINE:
            took = connector.limit
            self._add(self._sparse, c.CUTOFFS, who | {n.PHASE: cut.phase, n.LIMIT_SOURCE: cut.source})
            if self._random.random() < connector.answers_late:
                self._observe(
                    self._sparse, c.LATE_RESPONSE_DELAY, {n.CONNECTOR: connector.name}, self._random.uniform(1, 9)
                )
        waited = took * (0.9 if outcome is Outcome.DEADLINE else 0.2) if cut.phase == "lock" else 0.0
        if waited:
            self._observe(
                self._sparse, c.LOCK_WAIT_DURATION, {n.CONNECTOR: connector.name, n.LOCK_NAME: "session"}, waited
            )
        self._add(self._recent, c.ATTEMPTS, {n.CONNECTOR: connector.name})
        sums = self._histogram(c.CALL_DURATION, who)
        self._sparse[sums.sum] = self._sparse.get(sums.sum, 0) + took
        self._sparse[sums.count] = self._sparse.get(sums.count, 0) + 1
        if minute >= self.recent_from:
            self._buckets(self._recent, sums, c.CALL_DURATION, took)
            self._operation(who, took, outcome)

    def _operation(self, who: dict[str, str], took: float, outcome: Outcome) -> None:
        tool = self._random.choice(("read", "search", "write"))
        keys = who | {n.MCP_METHOD_NAME: n.TOOLS_CALL, n.GEN_AI_TOOL_NAME: tool, n.MCP_PROTOCOL_VERSION: "2025-06-18"}
        if outcome is not Outcome.OK:
            keys |= {n.ERROR_TYPE: "timeout" if outcome is Outcome.DEADLINE else outcome.value}
        self._observe(self._recent, c.OPERATION_DURATION, keys, took)

    def _outcome(self, connector: Connector, cut: Cut) -> Outcome:
        drawn = self._random.random()
        if connector.dead:
            return Outcome.REJECTED
        if drawn < cut.share:
            return Outcome.DEADLINE
        return Outcome.TOOL_ERROR if drawn > 0.99 else Outcome.OK

    # --- series ---------------------------------------------------------------------------------------------------
    def _register(self, connector: Connector) -> None:
        who = {n.CONNECTOR: connector.name}
        for process in range(connector.processes):
            for outcome in Outcome:
                happens = (outcome is Outcome.REJECTED) if connector.dead else (outcome in HAPPENING)
                into = self._often if happens else self._sparse
                self._add(into, c.CALLS, who | {n.OUTCOME: outcome.value}, 0, process)
        for cause in n.FAULT_CAUSES:
            self._add(self._recent, c.FAULTS, who | {n.CAUSE: cause}, 0)
        for state in n.CONNECTOR_STATES:
            is_in = state == ("failed" if connector.dead else "ready")
            self._add(self._recent, c.CONNECTOR_STATE, who | {n.STATE: state}, int(is_in))
        for state in n.BREAKER_STATES:
            self._add(self._recent, c.BREAKER_STATE, who | {n.BREAKER_STATE: state}, int(state == "closed"))
        self._add(self._recent, c.LIMIT, who, connector.limit)
        self._add(self._recent, c.TOOLS, who, 0 if connector.dead else 3)
        for process in range(2):
            for state in n.HOOK_STATES:
                keys = {n.HOOK_TARGET: "mcp", n.HOOK_STATE: state}
                self._recent[self._name(c.HOOKS, keys, process)] = 12.0 if state == "active" else 0.0

    def _add(
        self, into: dict[str, float], what: Instrument, keys: dict[str, str], amount: float = 1, process: int = 0
    ) -> None:
        name = self._name(what, keys, process)
        into[name] = into.get(name, 0) + amount

    def _observe(self, into: dict[str, float], what: Instrument, keys: dict[str, str], value: float) -> None:
        series = self._histogram(what, keys)
        self._buckets(into, series, what, value)
        into[series.sum] = into.get(series.sum, 0) + value
        into[series.count] = into.get(series.count, 0) + 1

    @staticmethod
    def _buckets(into: dict[str, float], series: HistogramNames, what: Instrument, value: float) -> None:
        reached = bisect.bisect_left(what.bounds, value)
        for place, name in enumerate(series.buckets):
            into[name] = into.get(name, 0) + (place >= reached)

    def _histogram(self, what: Instrument, keys: dict[str, str]) -> HistogramNames:
        known = what.name, *keys.values()
        if known not in self._histograms:
            bounds = [*(str(bound) for bound in what.bounds), "+Inf"]
            self._histograms[known] = HistogramNames(
                tuple(self._name(what, keys | {"le": bound}, 0, "_bucket") for bound in bounds),
                self._name(what, keys, 0, "_sum"),
                self._name(what, keys, 0, "_count"),
            )
        return self._histograms[known]

    @staticmethod
    def _name(what: Instrument, keys: dict[str, str], process: int, suffix: str = "") -> str:
        labels = {"job": JOB, "instance": f"simulated:{9464 + process}"} | keys
        return (
            what.prometheus + suffix + "{" + ",".join(f'{k.replace(".", "_")}="{v}"' for k, v in labels.items()) + "}"
        )
