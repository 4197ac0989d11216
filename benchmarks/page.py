"""``docs/performance.md``: the benchmarks in order, each with the command that runs it again."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import ModuleType

import collectors
import cost
import growth
import instructions
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
    "instructions": ("What a call costs, in instructions", instructions),
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
takes about an hour once they stand, ten minutes more with `LONG=1`. Below each heading stands the command that
prints that part alone; with `WRITE=1` it takes its place here. Every figure is compared with another one of the same
run: take the ratios and not the microseconds to another machine.
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
    when = f"{datetime.date.today().isoformat()}, the machine's load was {os.getloadavg()[0]:.1f} before it."
    tables: Callable[[Bench], Iterator[str]] = module.tables
    long = " LONG=1" if bench.long and name == "memory" else ""
    command = f"```sh\nmake bench ONLY={name}{long}\n```"
    return "\n\n".join([f"## {heading}", (module.__doc__ or "").strip(), command, when, *tables(bench)]) + "\n"


def write(bench: Bench, names: Collection[str] = (), path: Path = PAGE) -> None:
    """The page with these parts, or with all of them, run now; the others stay as they stand there."""
    standing = _standing(path.read_text(encoding="utf-8")) if names else {}
    about = _about(bench)
    sections = [
        standing[SECTIONS[name][0]] if names and name not in names else section(name, bench) for name in SECTIONS
    ]
    notes = _NOTES.read_text(encoding="utf-8")
    path.write_text("\n".join([_HEAD, about, *sections, notes]), encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


def _standing(page: str) -> dict[str, str]:
    """The parts of the page as it is, by their headings."""
    _, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    return {part.partition("\n")[0].removeprefix("## "): part.rstrip("\n") + "\n" for part in parts}


def _about(bench: Bench) -> str:
    """The machine and the versions."""
    lines = [f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {_printed(bench, _PYTHON)}."]
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
