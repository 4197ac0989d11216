"""How the cost of a call grows with the program: connectors, calls at once, threads with event loops of their own.

Metrics and spans, in memory, beside the same program without us. The last column is what we add, as a multiple of what
we add in the first line. Processor time, lower quartile of the turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import Bench, table
from turns import progress, subjects

SIZES = {"connectors": (1, 10, 100, 1000), "at_once": (1, 10, 100, 1000), "threads": (1, 2, 4, 8, 16)}
_HEADINGS = {"connectors": "connectors", "at_once": "calls at once", "threads": "threads"}
WAYS = ("bare", "ours")


def tables(bench: Bench) -> Iterator[str]:
    """A table for each way to grow."""
    for what, sizes in list(SIZES.items())[: bench.choose(3, 1)]:
        yield _table(bench, what, sizes[: bench.choose(len(sizes), 2)])


def _table(bench: Bench, what: str, sizes: tuple[int, ...]) -> str:
    calls, rounds = bench.choose(1000, 20), bench.choose(7, 1)
    added: dict[int, float] = {}
    rows = []
    with subjects({way: bench.command("growing.py", way, what) for way in WAYS}) as (ready, failed):
        if failed:
            raise SystemExit(f"growth: {failed}")
        for size in sizes:
            progress(f"growth: {size} {_HEADINGS[what]}")
            question = {"size": size, "calls": calls}
            for subject in ready.values():
                subject.ask(question)
                subject.turns.clear()
            for _ in range(rounds):
                for subject in ready.values():
                    subject.turns.append(subject.ask(question))
            bare, ours = (ready[way].cost for way in WAYS)
            added[size] = ours - bare
            rows.append((f"{size:,}", f"{bare:.0f}", f"{ours:.0f}", f"{added[size]:.0f}",
                         f"{added[size] / added[sizes[0]]:.2f}"))  # fmt: skip
    progress()
    return table([_HEADINGS[what], "without us, µs a call", "with us", "we add", "× the first line"], rows)
