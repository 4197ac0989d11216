"""A simulated month in a real Prometheus, its recorded series included."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml
from prometheus_process import ROOMY, Prometheus, blocks_from, required, running

from dashboards import backfill, build
from dashboards.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]
END = datetime(2026, 11, 9, tzinfo=timezone.utc)
"""A Monday, so that the month before it has four or five of each weekday."""
RECORDED_DAYS = 14
"""The window of McpDeadlineHotHour. A month of recorded minutes would take a minute to compute."""


@dataclass(frozen=True)
class Month:
    """The simulated month, the Prometheus that holds it, and the truth about it."""

    prometheus: Prometheus
    simulation: Simulation

    @property
    def end(self) -> int:
        return self.simulation.end

    @property
    def start(self) -> int:
        return self.simulation.start


@contextlib.contextmanager
def prometheus_with_a_month(folder: Path) -> Iterator[Month]:
    simulation = Simulation(END)
    data = folder / "data"
    blocks_from(backfill.write(simulation, folder / "openmetrics"), data)
    config = folder / "prometheus.yml"
    config.write_text("global: {}\n")
    hours, cells = yaml.safe_load((build.BUILT / "rules" / "otel-mcp-recording.yml").read_text())["groups"]
    recorded_since = simulation.end - RECORDED_DAYS * 86400 - 3600
    for group, start in ((hours, recorded_since), (cells, simulation.end - 7200)):
        # Started anew each time: a running Prometheus looks for new blocks once a minute only.
        with running(config, data) as prometheus:
            record(prometheus, group, start, simulation.end, folder)
    with running(config, data) as prometheus:
        yield Month(prometheus, simulation)


def record(prometheus: Prometheus, group: dict[str, Any], start: int, end: int, folder: Path) -> None:
    """Runs one group of recording rules over the past, as docs/dashboards.md tells users to."""
    rules = folder / "rules.yml"
    rules.write_text(yaml.safe_dump({"groups": [group]}))
    command = [required("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=24h", "rules"]
    command += [f"--url={prometheus.url}", f"--start={start}", f"--end={end}", f"--output-dir={folder / 'data'}"]
    command += [str(rules)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ROOMY)
    assert done.returncode == 0, done.stdout + done.stderr
