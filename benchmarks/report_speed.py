"""How long a report takes, and how much memory, beside the same counting in plain Python.

    python benchmarks/report_speed.py [--lines 10000000] [--keep FILE] [--readers report engine plain]

The log is a simulated one of the wanted size, written first (or kept in FILE and used again). Each reader runs in a
process of its own. `engine` is what the engine needs to parse the fields of all lines, with nothing done to them: the
report cannot be faster. `plain` is plain Python, and only counts calls and deadlines by connector, tool and hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from otel_mcp._report.simulate import TYPICAL, write_history

REPORT = """
import sys
from otel_mcp._report.build import report_for
print(report_for([sys.argv[1]]).total.calls)
"""
ENGINE = """
import sys
from otel_mcp._report import files, queries
from otel_mcp._report.engine import CallLog
with CallLog(files.find([sys.argv[1]])) as log:
    seen = ", ".join(f'count("{name}")' for name in queries.COLUMNS)
    print(log.rows(f"SELECT count(*), {seen} FROM ({queries.lines({'uncompressed': [sys.argv[1]]})})")[0][0])
"""
PLAIN = """
import collections, datetime, json, sys
cells = collections.Counter()
with open(sys.argv[1]) as file:
    for text in file:
        line = json.loads(text)
        if line["event"] == "call":
            ended = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
            ended += datetime.timedelta(seconds=line["elapsed"])
            cells[line["connector"], line["tool"], ended.hour, line["outcome"] == "deadline"] += 1
print(sum(cells.values()))
"""
MEASURED = """
import resource, subprocess, sys, time
import psutil
def busy():
    times = psutil.cpu_times()
    return times.user + times.nice + times.system
begun, before = time.monotonic(), busy()
subprocess.run(sys.argv[1:], check=True)
used, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
own = used.ru_utime + used.ru_stime
print(seconds, own, used.ru_maxrss // 1024, max(0.0, busy() - before - own) / seconds)
"""


READERS = {
    "report": ("otel-mcp report", REPORT),
    "engine": ("the engine, fields of all lines", ENGINE),
    "plain": ("plain Python, hours only", PLAIN),
}


def measure(program: str, path: Path) -> str:
    """Calls (or lines) counted, seconds, processor seconds, MB, and cores that others kept busy during one run."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    calls, numbers = done.stdout.split("\n")[:2]
    seconds, processor, memory, others = map(float, numbers.split())
    return f"{int(calls):,} | {seconds:.1f} | {processor:.1f} | {memory:.0f} | {others:.1f}"


def write(path: Path, lines: int) -> None:
    """A month of calls, told again until there are enough."""
    month = path.with_name(path.name + ".month")
    count = write_history(month, 30, seed=1, scenario=TYPICAL)
    text = month.read_bytes().splitlines(keepends=True)
    with path.open("wb") as out:
        for _ in range(lines // count):
            out.writelines(text)
        out.writelines(text[: lines % count])
    month.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.keep or Path(folder) / "calls.jsonl"
        if not path.exists():
            write(path, arguments.lines)
        versions = {"python": platform.python_version(), "duckdb": version("duckdb")}
        print(json.dumps({"cores": os.cpu_count(), "bytes": path.stat().st_size, **versions}))
        print("| reader | counted | seconds | processor seconds | MB | cores busy with other work |")
        print("|---|---|---|---|---|---|")
        for name, program in map(READERS.__getitem__, arguments.readers):
            print(f"| {name} | {measure(program, path)} |", flush=True)


if __name__ == "__main__":
    main()
