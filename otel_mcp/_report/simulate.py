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
from datetime import datetime, timezone
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from otel_mcp._ground.catalogue import LOG_SCHEMA
from otel_mcp._version import __version__

_PART_OF_LOCK: Final = 0.9
"""Part of its limit that a call cut off by a lock spent waiting for it."""
_SESSION: Final = 12 * 3600.0
"""Seconds after which a connector's session is replaced."""


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
    end = (now or datetime.now(timezone.utc)).timestamp()
    told = _World(scenario, end - days * 86400, end, random.Random(seed)).history()
    try:
        with unfinished.open("w", encoding="utf-8") as out:
            out.writelines(line for _, line in told)
        unfinished.chmod(0o600)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return len(told)


_Told = tuple[float, str]
"""A line, and when it was told."""


@dataclass(frozen=True)
class _Call:
    connector: Connector
    tool: str
    time: float
    """Seconds since 1970, like all moments here."""
    session: float
    """When its session began."""
    last: float
    """When the session's last message passed."""

    @property
    def idle(self) -> float:
        return self.time - self.last


@dataclass
class _World:
    scenario: Scenario
    begin: float
    end: float
    random: random.Random
    serial: int = 0
    _heads: dict[tuple[object, ...], str] = field(default_factory=dict)
    _minutes: dict[int, str] = field(default_factory=dict)
    _hours: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)

    def history(self) -> list[_Told]:
        """All lines, by the moment they carry."""
        told = [line for connector in self.scenario.connectors for line in self._of(connector)]
        return sorted(told, key=lambda line: line[0])

    def _of(self, connector: Connector) -> Iterator[_Told]:
        clusters = [c for c in self.scenario.clusters if c.connector == connector.name]
        outages = [self._span(o) for o in self.scenario.outages if connector.name in o.connectors]
        hangs = connector.name in self.scenario.never_ended
        session = last = self.begin
        for time in self._arrivals(connector):
            if time - session > _SESSION:
                session = time
            call = _Call(connector, self.random.choice(connector.tools), time, session, last)
            self.serial += 1
            if hangs and time - self.begin > 0.55 * (self.end - self.begin):
                hangs = False
                yield from self._waits(call)
            else:
                yield from self._ends(call, self._fate(call, clusters, outages))
                last = time

    def _arrivals(self, connector: Connector) -> Iterator[float]:
        time = self.begin
        while (time := time + 3600 * self.random.expovariate(connector.calls_per_hour)) < self.end:
            if int(time // 3600) % 24 in connector.hours:
                yield time

    def _span(self, outage: Outage) -> tuple[float, float, float]:
        begins = self.begin + (self.end - self.begin) * outage.begins
        return begins, begins + 60 * outage.minutes, outage.share

    def _fate(self, call: _Call, clusters: list[Cluster], outages: list[tuple[float, float, float]]) -> Cluster | None:
        """The cluster because of which this call is cut off; None if it goes through."""
        for begins, ends, share in outages:
            if begins <= call.time < ends and self.random.random() < share:
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
        # A call belongs to the hour in which it ends, and one that is cut off ends after its limit.
        hour, weekday = self._local(cluster.tz, int((call.time + call.connector.limit) // 900))
        return cluster.hour in (None, hour) and cluster.weekday in (None, weekday)

    def _local(self, tz: str, quarter: int) -> tuple[int, int]:
        if (tz, quarter) not in self._hours:
            zone = timezone.utc if tz == "UTC" else ZoneInfo(tz)
            moment = datetime.fromtimestamp(quarter * 900, zone)
            self._hours[tz, quarter] = moment.hour, moment.weekday()
        return self._hours[tz, quarter]

    def _ends(self, call: _Call, cluster: Cluster | None) -> Iterator[_Told]:
        connector, draw = call.connector, self.random.random
        elapsed = connector.limit
        outcome, phase = "deadline", cluster.phase if cluster else "wait"
        if cluster is None:
            elapsed = min(self.random.lognormvariate(0, 0.5) * connector.seconds, 0.99 * connector.limit)
            outcome = "ok" if draw() > 0.01 else "tool_error"
        again = outcome == "deadline" and phase == "wait" and call.tool in self.scenario.unsafe_retries
        head = self._head("call", call, outcome, phase, again) or self._fixed(call, outcome, phase, again)
        waited = f"{_PART_OF_LOCK * elapsed:.3f}" if phase == "lock" else "0.0"
        generation = 1 + int((call.session - self.begin) // _SESSION)
        yield (
            call.time,
            f'{head},{self._stamp(call.time)},"elapsed":{elapsed:.4f},"lock_wait":{waited},"generation":{generation},'
            f'"session_age":{call.time - call.session:.3f},"idle":{call.idle:.3f},'
            f'"trace_id":"{self.random.getrandbits(128):032x}","span_id":"{self.random.getrandbits(64):016x}"}}\n',
        )
        if cluster and cluster.late:
            when, delay = call.time + elapsed, draw() * cluster.late
            head = self._head("late_response", call) or self._encoded("late_response", call, limit=connector.limit)
            yield when, f'{head},{self._stamp(when)},"delay":{delay:.3f}}}\n'

    def _waits(self, call: _Call) -> Iterator[_Told]:
        head = self._encoded(
            "still_waiting", call, method="tools/call", phase="wait", limit=None, limit_source=None, retired=False
        )
        for age in (30, 60, 120, 240, 480):
            yield call.time + age, f'{head},{self._stamp(call.time + age)},"age":{age}.0,"silent_for":{age}.0}}\n'

    def _fixed(self, call: _Call, outcome: str, phase: str, again: bool) -> str:
        connector, locked = call.connector, phase == "lock"
        attempts = [] if locked else ["disconnected", outcome] if again else [outcome]
        return self._encoded(
            "call", call, outcome, phase, again,
            method="tools/call", outcome=outcome, bucket="error" if outcome == "tool_error" else outcome,
            attempts=len(attempts), attempt_outcomes=attempts, limit=connector.limit, limit_source="sdk",
            limits={"sdk": connector.limit}, phase=phase, sent=not locked, cause="lock_wait" if locked else None,
            backoff=0.0, lock_holder=f"{connector.tools[0]} of {connector.name}" if locked else None,
            breaker="closed", keepalive_overlap=False, retry_unsafe=again,
            error_type={"deadline": "timeout", "tool_error": "tool_error"}.get(outcome),
        )  # fmt: skip

    def _head(self, event: str, call: _Call, *variant: object) -> str | None:
        return self._heads.get((event, call.connector.name, call.tool, *variant))

    def _encoded(self, event: str, call: _Call, *variant: object, **fields: object) -> str:
        """What lines of this kind have in common, encoded once: a month of calls is written in seconds."""
        line = {
            "schema": LOG_SCHEMA, "event": event, "service": "simulated-agent", "instance": "5170bdc2", "pid": 1,
            "version": __version__, "connector": call.connector.name, "transport": call.connector.transport,
            "simulated": True, "tool": call.tool, **fields,
        }  # fmt: skip
        head = json.dumps(line, separators=(",", ":"))[:-1]
        return self._heads.setdefault((event, call.connector.name, call.tool, *variant), head)

    def _stamp(self, time: float) -> str:
        minute, seconds = divmod(int(time * 1000), 60_000)
        if minute not in self._minutes:
            self._minutes[minute] = datetime.fromtimestamp(minute * 60, timezone.utc).strftime("%Y-%m-%dT%H:%M:")
        return f'"id":"{self.serial}","time":"{self._minutes[minute]}{seconds / 1000:06.3f}Z"'


_BY_CHANCE: Final = Cluster("", 0.0)
