"""How often the report finds what is there, and how often it claims what is not.

    python benchmarks/report_truth.py [--logs 200] [--seed 1] [--processes 2]

Writes simulated logs, half of them with planted clusters of several sizes and half without any, reads each the way
`otel-mcp report` does, and prints a table: power for each planted cluster, and the share of logs without clusters in
which anything was claimed. Outages, quiet connectors and daylight saving are in both halves.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from otel_mcp._report.build import report_for
from otel_mcp._report.model import Finding, Report
from otel_mcp._report.simulate import Cluster, Connector, Outage, Scenario, write_history

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 9, tzinfo=timezone.utc)
"""A month of which the clock change of 25 October 2026 is part."""
DAYS = 30
CLAIMS = {"hour", "weekday_hour", "connector", "tool", "stale_session", "keepalive"}
"""Kinds that are inferred. The others are counts of what a line says, or outages, which are planted in both halves."""

CONNECTORS = (
    Connector("busy", calls_per_hour=20, share=0.01),
    Connector("usual", calls_per_hour=8, share=0.01),
    Connector("office", calls_per_hour=10, share=0.01, hours=range(6, 18)),
    Connector("quiet", calls_per_hour=3, share=0.01),
    Connector("rare", calls_per_hour=0.4, share=0.01),
)


@dataclass(frozen=True)
class Planted:
    """A cluster, and the finding that tells it."""

    name: str
    cluster: Cluster
    kind: str

    def found_in(self, report: Report) -> bool:
        return any(self.is_told_by(finding) for finding in report.findings)

    def is_told_by(self, finding: Finding) -> bool:
        plant = self.cluster
        return (
            finding.kind == self.kind
            and finding.connector == plant.connector
            and (plant.hour is None or finding.hour == plant.hour)
            and (plant.weekday is None or finding.weekday == plant.weekday)
            and (plant.tool is None or finding.tool == plant.tool)
        )


PLANTS = (
    Planted("hour, 3 % on busy", Cluster("busy", 0.03, hour=6, tz=ZONE), "hour"),
    Planted("hour, 5 % on busy", Cluster("busy", 0.05, hour=6, tz=ZONE), "hour"),
    Planted("hour, 10 % on usual", Cluster("usual", 0.10, hour=14, tz=ZONE), "hour"),
    Planted("hour, 30 % on usual", Cluster("usual", 0.30, hour=14, tz=ZONE), "hour"),
    Planted("hour, 30 % on office", Cluster("office", 0.30, hour=9, tz=ZONE), "hour"),
    Planted("hour, 30 % on quiet", Cluster("quiet", 0.30, hour=3, tz=ZONE), "hour"),
    Planted("hour, 60 % on rare", Cluster("rare", 0.60, hour=3, tz=ZONE), "hour"),
    Planted("Monday hour, 30 % on busy", Cluster("busy", 0.30, hour=9, weekday=0, tz=ZONE), "weekday_hour"),
    Planted("Monday hour, 60 % on usual", Cluster("usual", 0.60, hour=9, weekday=0, tz=ZONE), "weekday_hour"),
    Planted("tool, 5 % on usual", Cluster("usual", 0.05, tool="read"), "tool"),
    Planted("tool, 20 % on quiet", Cluster("quiet", 0.20, tool="read"), "tool"),
    Planted("connector, 5 % on usual", Cluster("usual", 0.05), "connector"),
    Planted("idle over 15 min, 20 % on usual", Cluster("usual", 0.20, idle_over=900), "stale_session"),
)


def outages(lots: random.Random) -> tuple[Outage, ...]:
    """Up to four outages of ten minutes to eight hours, of one connector or of all."""
    names = tuple(connector.name for connector in CONNECTORS)
    return tuple(
        Outage(
            names if lots.random() < 0.3 else (lots.choice(names),),
            lots.random(),
            lots.choice((10, 40, 120, 480)),
            lots.choice((0.3, 0.7, 1.0)),
        )
        for _ in range(lots.randrange(5))
    )


def read(scenario: Scenario, seed: int, folder: Path) -> Report:
    path = folder / "calls.jsonl"
    write_history(path, DAYS, seed=seed, now=NOW, scenario=scenario)
    return report_for([path], tz=ZONE)


@dataclass(frozen=True)
class Pair:
    """What was claimed in a log without clusters, and in one with a cluster."""

    number: int
    false: list[str]
    planted: str
    found: bool
    stray: list[str]
    """Claims about other connectors than the planted one."""


def pair(task: tuple[int, int]) -> Pair:
    seed, number = task
    lots = random.Random(seed * 1_000_003 + number)
    plant = PLANTS[number % len(PLANTS)]
    with tempfile.TemporaryDirectory() as folder:
        nothing = Scenario(CONNECTORS, outages=outages(lots))
        claims = [f for f in read(nothing, lots.getrandbits(32), Path(folder)).findings if f.kind in CLAIMS]
        scenario = Scenario(CONNECTORS, (plant.cluster,), outages(lots))
        report = read(scenario, lots.getrandbits(32), Path(folder))
    stray = [
        f
        for f in report.findings
        if f.kind in CLAIMS and not plant.is_told_by(f) and f.connector != plant.cluster.connector
    ]
    return Pair(number, _sentences(claims), plant.name, plant.found_in(report), _sentences(stray))


def _sentences(findings: list[Finding]) -> list[str]:
    return [finding.sentence for finding in findings]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200, help="logs of each half")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    arguments = parser.parse_args()
    begun, pairs = time.monotonic(), []
    tasks = [(arguments.seed, number) for number in range(arguments.logs)]
    # Fresh processes: the engine's threads do not survive a fork.
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        for done in pool.imap_unordered(pair, tasks):
            pairs.append(done)
            if arguments.out:
                arguments.out.write_text(json.dumps([asdict(each) for each in pairs]))
    show(sorted(pairs, key=lambda each: each.number))
    print(f"Seconds: {time.monotonic() - begun:.0f}")


def show(pairs: list[Pair]) -> None:
    planted = Counter(each.planted for each in pairs)
    found = Counter(each.planted for each in pairs if each.found)
    false, stray = [each for each in pairs if each.false], [each for each in pairs if each.stray]
    print(f"| planted, base share 1 %, {DAYS} days | logs | found |\n|---|---|---|")
    for plant in PLANTS:
        if planted[plant.name]:
            print(f"| {plant.name} | {planted[plant.name]} | {found[plant.name] / planted[plant.name]:.0%} |")
    print(f"\nWithout clusters: {len(pairs)} logs, {len(false)} with a claim ({len(false) / len(pairs):.1%}).")
    print(f"With a cluster: {len(pairs)} logs, {len(stray)} with a claim about another connector.")
    for each in (*false, *stray):
        print(f"  log {each.number}: {[*each.false, *each.stray]}")


if __name__ == "__main__":
    main()
