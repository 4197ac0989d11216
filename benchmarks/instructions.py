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
from turns import SUBJECTS, Command, Failed, clean_environment, last_word, progress

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
    counted, failed = _counted(valgrind, found, bench)
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
    missing.update({name: reason for name, reason in failed.items() if not name.startswith("bare ")})
    rows += [(called(name.split()[0]), "", "", f"not measured: {reason}", "") for name, reason in missing.items()]
    return table(["", "signals", "bare call, thousands", "adds, thousands", "× the floor of both"], rows)


def _thousands(instructions: float) -> str:
    return f"{instructions / 1000:,.0f}"


def _counted(valgrind: str, found: Mapping[str, Command], bench: Bench) -> tuple[dict[str, float], dict[str, str]]:
    """Instructions a call, of each program that runs; and the last words of the others."""
    few, more = bench.choose(FEW, 1), bench.choose(MORE, 2)

    def count(name: str) -> float | str:
        progress(f"instructions: {name}")
        try:
            less, all_of_them = (_instructions(valgrind, found[name], calls) for calls in (few, more))
        except Failed as failure:
            return str(failure)
        return (all_of_them - less) / (more - few)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(found, pool.map(count, found), strict=True))
    progress()
    counted = {name: number for name, number in counts.items() if isinstance(number, float)}
    return counted, {name: word for name, word in counts.items() if isinstance(word, str)}


def _instructions(valgrind: str, command: Command, calls: int) -> int:
    """Those of a program's whole life with so many calls.

    Raises:
        Failed: it does not run; the text is its last word.
    """
    options = ["--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={os.devnull}"]
    done = subprocess.run(
        [valgrind, *options, command.python, str(SUBJECTS / command.script), *command.arguments],
        input=f"{calls}\n", capture_output=True, text=True, check=False,
        env={**clean_environment(), **command.variables, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    told = _REFERENCES.search(done.stderr)
    if told is None or done.returncode != 0:
        raise Failed(last_word(line for line in done.stderr.splitlines() if not line.startswith("==")))
    return int(told[1].replace(",", ""))
