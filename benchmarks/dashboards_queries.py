"""How long the panels over the whole range take: 30 days, 50 connectors, raw and recorded, on a real Prometheus.

    PYTHONPATH=. python benchmarks/dashboards_queries.py [--connectors 50] [--days 30] [--processes 1]

Writes a month of counters at one sample a minute (8 outcomes for each connector and process), lets promtool make
blocks of it, records the hours with the shipped rules, and asks each query five times. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "dashboards"))

from grafana_variables import expanded, panel
from prometheus_process import PROXYLESS, Prometheus, blocks_from, running

from dashboards import build, settings
from otel_mcp._ground.catalogue import CALLS
from otel_mcp._ground.outcomes import Outcome

END = 1794182400
DAY = 86400
RUNS = 5
PANELS = (
    ("connector × hour", "At which hour of the day does which connector run out of time?", 0),
    ("weekday × hour", "On which weekday at which hour?", 0),
    ("day × hour", "On which days did those hours run out of time?", 0),
    ("deadline share by connector, no folding", "Which connectors lost the most calls to deadlines?", 2),
)
"""What the query is called here, the panel that asks it, and its place among the panel's queries."""
BLOCKS = "24h"
"""Kept as they are made: Prometheus would put them together while it is being asked."""


def days(folder: Path, given: argparse.Namespace) -> Iterator[Path]:
    names = [
        f'{CALLS.prometheus}{{job="bench",instance="p{process}",otel_mcp_connector="c{connector:02}",'
        f'otel_mcp_outcome="{outcome.value}"}}'
        for connector in range(given.connectors)
        for process in range(given.processes)
        for outcome in Outcome
    ]
    weights = [97 if "ok" in name else 2 if "deadline" in name else 0 for name in names]
    for start in range(END - given.days * DAY, END, DAY):
        path = folder / f"{start}.om"
        with path.open("w") as file:
            file.write(f"# TYPE {CALLS.prometheus.removesuffix('_total')} counter\n")
            for moment in range(start, start + DAY, 60):
                grown = moment // 60 % 1_000_000
                file.writelines(f"{n} {w * grown // 50} {moment}\n" for n, w in zip(names, weights, strict=True))
            file.write("# EOF\n")
        yield path


def record(prometheus: Prometheus, data: Path, given: argparse.Namespace) -> None:
    rules = data.parent / "rules.yml"
    hours = yaml.safe_load((build.BUILT / "rules" / "otel-mcp-recording.yml").read_text())["groups"][0]
    rules.write_text(yaml.safe_dump({"groups": [hours]}))
    command = ["promtool", "tsdb", "create-blocks-from", f"--max-block-duration={BLOCKS}", "rules"]
    command += [f"--url={prometheus.url}"]
    command += [f"--start={END - given.days * DAY}", f"--end={END}", f"--output-dir={data}", str(rules)]
    subprocess.run(command, check=True, capture_output=True)


def cpu_seconds(prometheus: Prometheus) -> float:
    """What Prometheus' own process has used so far. Unlike the clock it does not count what else the machine does."""
    with PROXYLESS.open(f"{prometheus.url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("process_cpu_seconds_total ")))


def times_of(
    prometheus: Prometheus, asked: dict[str, Any], given: argparse.Namespace, recorded: str
) -> tuple[str, int]:
    """Median milliseconds and mean processor milliseconds as text, and how many rows came back."""
    expr = expanded(asked["expr"], __range=f"{given.days}d", recorded=recorded)

    def rows() -> int:
        if asked["instant"]:
            return len(prometheus.instant(expr, END))
        return len(prometheus.range(expr, END - (given.days - 1) * DAY, END, DAY))

    rows()
    times = []
    before = cpu_seconds(prometheus)
    for _ in range(RUNS):
        began = time.perf_counter()
        found = rows()
        times.append(1000 * (time.perf_counter() - began))
    used = 1000 * (cpu_seconds(prometheus) - before) / RUNS
    return f"{statistics.median(times):.0f} ms ({used:.0f} ms CPU)", found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connectors", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--days", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        config = Path(folder) / "prometheus.yml"
        config.write_text("global: {}\n")
        for file in days(Path(folder), given):
            blocks_from([file], data)
            file.unlink()
        with running(config, data, f"--storage.tsdb.max-block-duration={BLOCKS}") as prometheus:
            record(prometheus, data, given)
        with running(config, data, f"--storage.tsdb.max-block-duration={BLOCKS}") as prometheus:
            print("| query | rows | raw | recorded |\n|---|---|---|---|")
            for name, title, place in PANELS:
                asked = panel(settings.DEADLINES_UID, title)["targets"][place]
                raw, rows = times_of(prometheus, asked, given, "no")
                recorded, as_many = times_of(prometheus, asked, given, ".*")
                assert rows == as_many
                print(f"| {name} | {rows} | {raw} | {recorded} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
