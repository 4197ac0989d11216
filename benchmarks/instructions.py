"""How many instructions of the processor a call takes: the comparison above, by a measure that nothing else moves.

What else the machine does, and where it puts a process, makes the same call take half as long again. Valgrind counts
instructions instead, of all threads, and counts the same ones each time: here of calls in memory, as the difference
between a program with few of them and one with more. What it does not show is how long they take: code that runs once
a call waits longer for memory than a loop does.

Valgrind has to be installed; each program runs at a fiftieth of its speed, so this part takes half an hour.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from bench import Bench, table
from cost import called, commands, order
from turns import SUBJECTS, Command, clean_environment, progress

FEW, MORE = 64, 192
"""Calls. Every 64th records the histogram points of those before it, so that the difference has its share of that."""
_REFERENCES = re.compile(r"I\s+refs:\s+([\d,]+)")


def tables(bench: Bench) -> Iterator[str]:
    """One table for each SDK."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        yield "Not measured: valgrind is not installed."
        return
    for sdk in bench.environments.sdks:
        yield f"**mcp {sdk}, in memory**\n\n{_table(bench, valgrind, sdk)}"


def _table(bench: Bench, valgrind: str, sdk: str) -> str:
    found, missing = commands(bench, sdk, "memory")
    counted = _counted(valgrind, found, bench)
    bare = counted.pop("bare ours", None)
    floor = counted.get("floor both")
    if bare is None or floor is None:
        return "Not measured: the programs do not run under this valgrind."
    rows: list[tuple[object, ...]] = [("no telemetry", "", _thousands(bare), "", "")]
    for name in sorted((name for name in counted if not name.startswith("bare ")), key=order):
        way, what = name.split()
        base = counted.get(f"bare {way}", bare)
        added = counted[name] - base
        rows.append((called(way), what, _thousands(base), _thousands(added), f"{added / (floor - bare):.2f}"))
    silent = (name for name in found if name not in counted and not name.startswith("bare "))
    missing.update(dict.fromkeys(silent, "does not run under valgrind"))
    rows += [(called(name.split()[0]), "", "", f"not measured: {reason}", "") for name, reason in missing.items()]
    return table(["", "signals", "bare call, thousands", "adds, thousands", "× the floor of both"], rows)


def _thousands(instructions: float) -> str:
    return f"{instructions / 1000:,.0f}"


def _counted(valgrind: str, found: Mapping[str, Command], bench: Bench) -> dict[str, float]:
    """Instructions a call, of each program that runs at all."""
    few, more = bench.choose(FEW, 1), bench.choose(MORE, 2)

    def count(name: str) -> float | None:
        counts = [_instructions(valgrind, found[name], calls) for calls in (few, more)]
        progress(f"instructions: {name}")
        return None if None in counts else (counts[1] - counts[0]) / (more - few)  # type: ignore[operator]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(found, pool.map(count, found), strict=True))
    progress()
    return {name: number for name, number in counts.items() if number is not None}


def _instructions(valgrind: str, command: Command, calls: int) -> int | None:
    """Those of a program's whole life with so many calls; None if it does not run."""
    options = ["--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={os.devnull}"]
    done = subprocess.run(
        [valgrind, *options, command.python, str(SUBJECTS / command.script), *command.arguments],
        input=f"{calls}\n", capture_output=True, text=True, check=False,
        env={**clean_environment(), **command.variables, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    told = _REFERENCES.search(done.stderr)
    return int(told[1].replace(",", "")) if told is not None and done.returncode == 0 else None
