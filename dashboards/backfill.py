"""Writes a simulated history as OpenMetrics files that `promtool tsdb create-blocks-from openmetrics` reads.

`python -m dashboards.backfill --out DIR [--days 30]` writes one file for each day, ending with the last whole hour.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TextIO

from dashboards.simulation import Simulation
from otel_mcp._ground.catalogue import INSTRUMENTS

DAY = 86400


def headers() -> str:
    """A counter's family is named without `_total` in this format."""
    kinds = {"counter": "counter", "gauge": "gauge", "histogram": "histogram"}
    return "".join(f"# TYPE {i.prometheus.removesuffix('_total')} {kinds[i.kind]}\n" for i in INSTRUMENTS)


def write(simulation: Simulation, folder: Path) -> list[Path]:
    """One file a day, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    file: TextIO | None = None
    day = None
    for moment, series in simulation.samples():
        if file is None or moment // DAY != day:
            finish(file)
            day = moment // DAY
            written.append(folder / f"{datetime.fromtimestamp(moment, timezone.utc):%Y-%m-%d}.om")
            file = written[-1].open("w", encoding="utf-8")
            file.write(headers())
        file.write("".join(f"{name} {value} {moment}\n" for name, value in series.items()))
    finish(file)
    return written


def finish(file: TextIO | None) -> None:
    if file is not None:
        file.write("# EOF\n")
        file.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dashboards.backfill", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--days", type=int, default=30)
    arguments = parser.parse_args()
    if arguments.days < 1:
        parser.error(f"--days {arguments.days}: give at least one day")
    files = write(Simulation(datetime.now(timezone.utc), arguments.days), arguments.out)
    print(f"{len(files)} files of simulated history in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
