"""Simulated call logs with planted clusters: for trying the report out, for its benchmarks, for filling dashboards.

Every line says `simulated: true`, and the report repeats it.
"""

# ruff: noqa: S311 - lots are drawn, no secrets

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from otel_mcp._ground.catalogue import LOG_SCHEMA
from otel_mcp._version import __version__

_PHASE_OF_LOCK: Final = 0.9
"""Part of its limit that a call cut off by a lock spent waiting for it."""


@dataclass(frozen=True)
class Connector:
    """A connector of the simulation."""

    name: str
    tools: tuple[str, ...] = ("search", "read", "update")
    calls_per_hour: float = 12.0
    share: float = 0.002
    """Deadline share where nothing is planted."""
    limit: float = 30.0
    seconds: float = 1.2
    """Median length of a call."""
    hours: range = range(24)
    """UTC hours in which it is called."""
    transport: str = "stdio"


@dataclass(frozen=True)
class Cluster:
    """Calls of `connector` that meet all conditions given run out of time with this share."""

    connector: str
    share: float
    hour: int | None = None
    weekday: int | None = None
    tool: str | None = None
    tz: str = "UTC"
    idle_over: float | None = None
    phase: str = "wait"
    late: float = 0.0
    """Seconds: with it, the answers come up to so much too late."""


@dataclass(frozen=True)
class Outage:
    """Nothing of these connectors is answered for some time."""

    connectors: tuple[str, ...]
    begins: float
    """Fraction of the whole time at which it begins."""
    minutes: float
    share: float = 1.0


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    connectors: tuple[Connector, ...]
    clusters: tuple[Cluster, ...] = ()
    outages: tuple[Outage, ...] = ()
    unsafe_retries: tuple[str, ...] = ()
    """Tools whose cut-off calls are sent again."""
    never_ended: tuple[str, ...] = ()
    """Connectors with a call that never ends, once in the whole time."""


TYPICAL: Final = Scenario(
    connectors=(
        Connector("odoo", ("search_read", "read_group", "create", "write"), 25, seconds=1.5),
        Connector("github", ("search_issues", "get_file", "create_issue"), 30, seconds=0.6, transport="http"),
        Connector("mail", ("search", "fetch", "send"), 12, seconds=0.9),
        Connector("crm", ("find_contact", "log_activity"), 6, seconds=0.8, transport="http", hours=range(6, 20)),
        Connector("browser", ("open", "read", "screenshot"), 10, limit=20, seconds=4.0),
        Connector("files", ("read", "list", "write"), 45, share=0.0005, limit=10, seconds=0.05),
    ),
    clusters=(
        Cluster("odoo", 0.3, hour=6),
        Cluster("github", 0.35, hour=9, weekday=0),
        Cluster("crm", 0.25, idle_over=900),
        Cluster("browser", 0.2, tool="screenshot", late=12),
        Cluster("mail", 0.06, tool="send", phase="lock"),
    ),
    outages=(Outage(("files",), 0.37, 35), Outage(("odoo", "github", "mail", "crm", "browser", "files"), 0.71, 50)),
    unsafe_retries=("send", "write"),
    never_ended=("browser",),
)
"""A nightly job on one server, a Monday morning on another, stale sessions, a limit too short, a lock; one outage of
one server and one of everything."""


def write_history(
    path: str | os.PathLike[str], days: float, *, seed: int, now: datetime | None = None, scenario: Scenario = TYPICAL
) -> int:
    """Write a simulated call log of the `days` before `now` (default: the present); returns the number of lines.

    The file is replaced as a whole; the same seed and moment give the same bytes.
    """
    target = Path(path)
    unfinished = target.with_name(target.name + ".part")
    count = 0
    try:
        with unfinished.open("w", encoding="utf-8") as out:
            for line in lines(days, seed=seed, now=now, scenario=scenario):
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
                count += 1
        unfinished.chmod(0o600)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def lines(
    days: float, *, seed: int, now: datetime | None = None, scenario: Scenario = TYPICAL
) -> Iterator[dict[str, Any]]:
    """The lines of such a log, in the order of the calls' beginnings."""
    end = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    world = _World(scenario, end - timedelta(days=days), end, random.Random(seed))
    told = [line for connector in scenario.connectors for line in world.history(connector)]
    told.sort(key=lambda line: str(line["time"]))
    return iter(told)


@dataclass
class _World:
    scenario: Scenario
    begin: datetime
    end: datetime
    random: random.Random
    serial: int = 0
    _zones: dict[str, tzinfo] = field(default_factory=dict)

    def history(self, connector: Connector) -> Iterator[dict[str, Any]]:
        clusters = [c for c in self.scenario.clusters if c.connector == connector.name]
        outages = [self._span(o) for o in self.scenario.outages if connector.name in o.connectors]
        session, last = self.begin, self.begin
        hung = self.begin + (self.end - self.begin) * 0.55 if connector.name in self.scenario.never_ended else None
        for moment in self._arrivals(connector):
            if moment - session > timedelta(hours=12):
                session = moment
            call = _Call(connector, self.random.choice(connector.tools), moment, session, last)
            if hung and moment >= hung:
                hung = None
                yield from self._hang(call)
                continue
            cluster = self._fate(call, clusters, outages)
            yield from self._told(call, cluster)
            last = moment

    def _arrivals(self, connector: Connector) -> Iterator[datetime]:
        moment = self.begin
        while True:
            moment += timedelta(hours=self.random.expovariate(connector.calls_per_hour))
            if moment >= self.end:
                return
            if moment.hour in connector.hours:
                yield moment

    def _span(self, outage: Outage) -> tuple[datetime, datetime, float]:
        begins = self.begin + (self.end - self.begin) * outage.begins
        return begins, begins + timedelta(minutes=outage.minutes), outage.share

    def _fate(
        self, call: _Call, clusters: list[Cluster], outages: list[tuple[datetime, datetime, float]]
    ) -> Cluster | None:
        """The cluster because of which this call is cut off; None if it goes through."""
        for begins, ends, share in outages:
            if begins <= call.moment < ends and self.random.random() < share:
                return _BY_CHANCE
        for cluster in clusters:
            if self._meets(call, cluster) and self.random.random() < cluster.share:
                return cluster
        return _BY_CHANCE if self.random.random() < call.connector.share else None

    def _meets(self, call: _Call, cluster: Cluster) -> bool:
        if cluster.tool not in (None, call.tool) or (cluster.idle_over or 0) > call.idle:
            return False
        if cluster.hour is None and cluster.weekday is None:
            return True
        if cluster.tz not in self._zones:
            self._zones[cluster.tz] = timezone.utc if cluster.tz == "UTC" else ZoneInfo(cluster.tz)
        # A call belongs to the hour in which it ends, and one that is cut off ends after its limit.
        local = (call.moment + timedelta(seconds=call.connector.limit)).astimezone(self._zones[cluster.tz])
        return cluster.hour in (None, local.hour) and cluster.weekday in (None, local.weekday())

    def _told(self, call: _Call, cluster: Cluster | None) -> Iterator[dict[str, Any]]:
        connector = call.connector
        ends = cluster is not None
        elapsed = connector.limit if ends else min(self.random.lognormvariate(0, 0.5) * connector.seconds,
                                                   connector.limit * 0.99)  # fmt: skip
        phase = cluster.phase if cluster else "wait"
        again = ends and phase == "wait" and call.tool in self.scenario.unsafe_retries
        outcome = "deadline" if ends else "ok" if self.random.random() > 0.01 else "tool_error"
        line = self._line("call", call, call.moment)
        line.update(
            method="tools/call", outcome=outcome, bucket={"tool_error": "error"}.get(outcome, outcome),
            elapsed=round(elapsed, 4), attempts=2 if again else 1,
            attempt_outcomes=["disconnected", outcome] if again else [outcome] if phase != "lock" else [],
            limit=connector.limit, limit_source="sdk", limits={"sdk": connector.limit}, phase=phase,
            sent=phase != "lock", cause="lock_wait" if phase == "lock" else None,
            lock_wait=round(elapsed * _PHASE_OF_LOCK, 3) if phase == "lock" else 0.0, backoff=0.0,
            lock_holder=f"{connector.tools[0]} of {connector.name}" if phase == "lock" else None, breaker="closed",
            generation=1 + int((call.session - self.begin) / timedelta(hours=12)),
            session_age=round((call.moment - call.session).total_seconds(), 3), idle=round(call.idle, 3),
            keepalive_overlap=False, retry_unsafe=again,
            error_type={"deadline": "timeout", "tool_error": "tool_error"}.get(outcome),
            trace_id=f"{self.random.getrandbits(128):032x}", span_id=f"{self.random.getrandbits(64):016x}",
        )  # fmt: skip
        yield line
        if cluster and cluster.late:
            late = self._line("late_response", call, call.moment + timedelta(seconds=elapsed), same=True)
            late.update(delay=round(self.random.uniform(0.1, cluster.late), 3), limit=connector.limit)
            yield late

    def _hang(self, call: _Call) -> Iterator[dict[str, Any]]:
        self.serial += 1
        for age in (30.0, 60.0, 120.0, 240.0, 480.0):
            line = self._line("still_waiting", call, call.moment + timedelta(seconds=age), same=True)
            line.update(method="tools/call", phase="wait", age=age, limit=None, silent_for=age, retired=False,
                        generation=1, current_generation=1)  # fmt: skip
            yield line

    def _line(self, event: str, call: _Call, moment: datetime, *, same: bool = False) -> dict[str, Any]:
        self.serial += not same
        return {
            "schema": LOG_SCHEMA, "event": event,
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), "service": "simulated-agent",
            "instance": "5170bdc2", "pid": 1, "version": __version__, "connector": call.connector.name,
            "transport": call.connector.transport, "simulated": True, "id": str(self.serial), "tool": call.tool,
        }  # fmt: skip


@dataclass(frozen=True)
class _Call:
    connector: Connector
    tool: str
    moment: datetime
    session: datetime
    """When its session began."""
    last: datetime
    """When the session's last message passed."""

    @property
    def idle(self) -> float:
        return (self.moment - self.last).total_seconds()


_BY_CHANCE: Final = Cluster("", 0.0)
