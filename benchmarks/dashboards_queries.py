"""How long the folding panels take: 30 days, 50 connectors, raw and recorded, on a real Prometheus.

    PYTHONPATH=. python benchmarks/dashboards_queries.py [--connectors 50] [--days 30] [--processes 1]

Writes a month of counters at one sample a minute (8 outcomes for each connector and process), lets promtool make
blocks of it, records the half hours, and asks each query five times. Prints a Markdown table.
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
PANELS = {
    "connector × hour": "At which hour of the day does which connector run out of time?",
    "weekday × hour": "On which weekday at which hour?",
    "deadline share by connector, no folding": "Which connectors lost the most calls to deadlines?",
}


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
    half_hours = yaml.safe_load((build.BUILT / "rules" / "otel-mcp-recording.yml").read_text())["groups"][0]
    rules.write_text(yaml.safe_dump({"groups": [half_hours | {"interval": "5m"}]}))
    command = ["promtool", "tsdb", "create-blocks-from", "--max-block-duration=24h", "rules", f"--url={prometheus.url}"]
    command += [f"--start={END - given.days * DAY}", f"--end={END}", f"--output-dir={data}", str(rules)]
    subprocess.run(command, check=True, capture_output=True)


def cpu_seconds(prometheus: Prometheus) -> float:
    """What Prometheus' own process has used so far. Unlike the clock it does not count what else the machine does."""
    with PROXYLESS.open(f"{prometheus.url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("process_cpu_seconds_total ")))


def times_of(prometheus: Prometheus, expr: str) -> tuple[str, int]:
    """Median milliseconds and mean processor milliseconds as text, and how many rows came back."""
    prometheus.instant(expr, END)
    times = []
    rows = 0
    before = cpu_seconds(prometheus)
    for _ in range(RUNS):
        began = time.perf_counter()
        rows = len(prometheus.instant(expr, END))
        times.append(1000 * (time.perf_counter() - began))
    used = 1000 * (cpu_seconds(prometheus) - before) / RUNS
    return f"{statistics.median(times):.0f} ms ({used:.0f} ms CPU)", rows


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
        with running(config, data) as prometheus:
            record(prometheus, data, given)
        with running(config, data) as prometheus:
            print("| query | rows | raw | recorded |\n|---|---|---|---|")
            for name, title in PANELS.items():
                expr = panel(settings.DEADLINES_UID, title)["targets"][-1 if "no" not in name else 2]["expr"]
                window = f"{given.days}d"
                raw, rows = times_of(prometheus, expanded(expr, __range=window))
                recorded, _ = times_of(prometheus, expanded(expr, __range=window, recorded=".*"))
                told = recorded if "$recorded" in expr else "–"
                print(f"| {name} | {rows} | {raw} | {told} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
