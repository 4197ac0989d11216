"""Memory: what a connector and an open request add, and what stays after very many calls.

Metrics and spans are on, with an exporter that discards. Sessions and calls are real, in memory; beside our program
runs the same one without us, and what is printed of connectors and requests is the difference. Bytes are resident
ones, read from the operating system; objects are those that the garbage collector knows. ``make bench LONG=1`` makes
1,000,000 calls instead of 100,000; then the growth after the first 10,000 should stay below 5 MB.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator

from bench import Bench, table
from turns import Subject, progress, subjects

_STEP = 10_000


def tables(bench: Bench) -> Iterator[str]:
    """What one of each adds, then what many calls leave behind."""
    if platform.system() != "Linux":
        yield "Not measured: resident memory is read from /proc."
        return
    yield _each(bench)
    yield _growth(bench, 1_000_000 if bench.long else bench.choose(100_000, 200))


def _each(bench: Bench) -> str:
    connectors, requests = bench.choose(200, 4), bench.choose(2000, 20)
    with subjects({way: bench.command("remembering.py", way) for way in ("bare", "ours")}) as (ready, failed):
        if failed:
            raise SystemExit(f"memory: {failed}")
        rows = []
        for what, name, count in (("connectors", "connector", connectors), ("open", "open request", requests)):
            progress(f"memory: {count} × {name}")
            took = {way: _took(subject, what, count) for way, subject in ready.items()}
            added = took["ours"][0] - took["bare"][0]
            rows.append((name, f"{count:,}", *(f"{took[way][0] / 1000:.1f}" for way in ("bare", "ours")),
                         f"{added / 1000:.1f}", f"{took['ours'][1] - took['bare'][1]:.0f}"))  # fmt: skip
    progress()
    return table(["each", "of", "without us, kB", "with us, kB", "we add, kB", "objects we add"], rows)


def _took(subject: Subject, what: str, count: int) -> tuple[float, float]:
    """Bytes and objects for each of `count`; the first one pays for what all share."""
    before = subject.ask({what: 1})
    after = subject.ask({what: count})
    return (after["bytes"] - before["bytes"]) / count, (after["objects"] - before["objects"]) / count


def _growth(bench: Bench, calls: int) -> str:
    """So many calls on one session, with each SDK at the same time."""
    step = min(_STEP, calls // 10)
    watched = {f"mcp {sdk}": bench.command("remembering.py", "ours", sdk=sdk) for sdk in bench.environments.sdks}
    seen: dict[str, list[dict[str, int]]] = {name: [] for name in watched}
    with subjects(watched) as (ready, failed):
        if failed:
            raise SystemExit(f"memory: {failed}")
        for done in range(step, calls + 1, step):
            for subject in ready.values():
                subject.tell({"calls": step})
            for name, subject in ready.items():
                seen[name].append(subject.listen())
            progress(f"memory: {done:,} of {calls:,} calls")
    progress()
    rows = [
        (name, f"{calls:,}", f"{step:,}", f"{(its[-1]['bytes'] - its[0]['bytes']) / 1e6:.2f}",
         its[-1]["objects"] - its[0]["objects"])
        for name, its in seen.items()
    ]  # fmt: skip
    return table(["", "calls", "counted after", "growth, MB", "growth, objects"], rows)
