"""``docs/performance.md``: the benchmarks in order, each with the command that runs it again."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import collectors
import cost
import growth
import memory
import records
import scrape
import startup
from bench import Bench
from environments import Environment
from matrix.environments import ROOT

PAGE = ROOT / "docs" / "performance.md"

SECTIONS: dict[str, tuple[str, ModuleType]] = {
    "cost": ("What a call costs", cost),
    "records": ("What is recorded for that price", records),
    "collectors": ("When the collector is ill", collectors),
    "scrape": ("What a scrape costs", scrape),
    "memory": ("Memory", memory),
    "startup": ("Starting and importing", startup),
    "growth": ("How the cost grows", growth),
}
"""By the name that `make bench ONLY=` takes. A module's docstring is what a reader has to know."""

_HEAD = """# Performance

`make bench` writes this page. It makes its environments below `.envs`, runs everything below one after the other, and
takes about ten minutes once they stand. Below each heading stands the command that prints that part alone. Every figure
is compared with another one of the same run: take the ratios and not the microseconds to another machine.
"""
_PACKAGES = ("mcp", "opentelemetry-sdk", "opentelemetry-exporter-prometheus", "prometheus_client", "pydantic", "wrapt")
_VERSIONS = f"""
import importlib.metadata as m
print(*(f"{{p}} {{m.version(p)}}" for p in {_PACKAGES!r}), sep=", ")
"""
_PYTHON = "import platform; print(platform.python_version())"
_NOTES = ROOT / "benchmarks" / "notes.md"


def section(name: str, bench: Bench) -> str:
    """One benchmark, run now."""
    heading, module = SECTIONS[name]
    print(f"== {name}", file=sys.stderr, flush=True)
    tables: Callable[[Bench], Iterator[str]] = module.tables
    long = " LONG=1" if bench.long and name == "memory" else ""
    command = f"```sh\nmake bench ONLY={name}{long}\n```"
    return "\n\n".join([f"## {heading}", (module.__doc__ or "").strip(), command, *tables(bench)]) + "\n"


def write(bench: Bench, path: Path = PAGE) -> None:
    """All of them, run now, as a page."""
    began, load = time.monotonic(), os.getloadavg()[0]
    about = _about(bench)
    sections = [section(name, bench) for name in SECTIONS]
    minutes = (time.monotonic() - began) / 60
    run = f"The machine's load was {load:.1f} when it began; it took {minutes:.0f} minutes.\n"
    notes = _NOTES.read_text(encoding="utf-8")
    path.write_text("\n".join([_HEAD, about, run, *sections, notes]), encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


def _about(bench: Bench) -> str:
    """The machine and the versions."""
    lines = [
        f"{datetime.date.today().isoformat()}: {_processor()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {_printed(bench, _PYTHON)}."
    ]
    lines += [f"- {_printed(bench, _VERSIONS, sdk)}" for sdk in bench.environments.sdks]
    return "\n".join([lines[0], "", *lines[1:], ""])


def _printed(bench: Bench, code: str, sdk: str | None = None) -> str:
    python = bench.environments.python(Environment(sdk or bench.sdk))
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    found = Path("/proc/cpuinfo")
    lines = found.read_text().splitlines() if found.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
