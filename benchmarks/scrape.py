"""What a scrape costs: time, bytes and the event loop's lag.

A scrape reads the ledger and prints it; between two scrapes the gauges cost nothing. Beside our endpoint stands a
registry of prometheus_client alone with as many lines, as plain gauges with two short labels. Both are asked by turns,
as a Prometheus asks, by a thread of the same process. The times are medians; the lag is the worst delay of an event
loop in the main thread while a scrape was going on: Python lets one thread run at a time. The label budget is 200
connectors; what comes after them shares the label `_other`.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import Bench, table
from turns import Subject, progress, subjects

ROWS = (
    *({"connectors": connectors, "tools": 1, "open": 20} for connectors in (1, 10, 50, 200, 1000)),
    *({"connectors": 10, "tools": tools, "open": 20} for tools in (5, 20)),
    *({"connectors": 10, "tools": 1, "open": calls} for calls in (0, 100, 1000)),
)
"""By connectors, by tools, by open requests."""


def tables(bench: Bench) -> Iterator[str]:
    """One table."""
    with subjects({"scrape": bench.command("scraped.py")}) as (ready, failed):
        if failed:
            raise SystemExit(f"scrape: {failed}")
        rows = [_row(ready["scrape"], asked, bench) for asked in ROWS[:: bench.choose(1, 9)]]
    progress()
    head = ["connectors", "tools each", "open each", "lines", "ms", "prometheus_client, ms", "ratio"]
    yield table([*head, "kB", "lag, ms", "its lag, ms"], rows)


def _row(subject: Subject, asked: dict[str, int], bench: Bench) -> list[str]:
    progress(f"scrape: {asked}")
    seen = subject.ask({**asked, "rounds": bench.choose(7, 1)})
    mine, theirs = seen["ours"], seen["plain"]
    return [
        *(f"{value:,}" for value in (*asked.values(), seen["lines"])),
        f"{mine['milliseconds']:.1f}",
        f"{theirs['milliseconds']:.1f}",
        f"{mine['milliseconds'] / theirs['milliseconds']:.2f}",
        f"{mine['size'] / 1000:.0f}",
        f"{mine['lag']:.1f}",
        f"{theirs['lag']:.1f}",
    ]
