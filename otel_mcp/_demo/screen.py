"""The live table, on a terminal; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from otel_mcp._demo.watch import Row

OUTCOMES = ("ok", "tool_error", "error", "deadline", "cancelled", "disconnected", "orphaned", "rejected")
_ALARMING = 5.0  # seconds; a call of this demo that is open for longer is one that hangs

Draw = Callable[[Mapping[str, Row], float], None]


@contextmanager
def live(plots: Mapping[str, str]) -> Iterator[Draw]:
    """Gives a function that draws rows and the seconds left. ``plots``: what is wrong with each connector."""
    if not sys.stdout.isatty():
        yield lambda _rows, _left: None
        return
    from rich.live import Live
    from rich.table import Table

    def table(rows: Mapping[str, Row], left: float) -> Table:
        drawn = Table(title="calls by outcome", caption=f"{left:.0f} s left", title_justify="left")
        for heading in ("connector", "which is", "state"):
            drawn.add_column(heading)
        for outcome in OUTCOMES:
            drawn.add_column(outcome, justify="right")
        drawn.add_column("oldest open call")
        for name, plot in plots.items():
            row = rows.get(name, Row())
            counts = [str(row.calls.get(outcome) or "") for outcome in OUTCOMES]
            drawn.add_row(name, plot, row.state, *counts, _open(row))
        return drawn

    with Live(table({}, 0.0), refresh_per_second=4) as screen:
        yield lambda rows, left: screen.update(table(rows, left))


def _open(row: Row) -> str:
    if not row.open_for:
        return ""
    text = f"{row.open_for:.1f} s, {row.phase}"
    return f"[red]{text}[/red]" if row.open_for > _ALARMING else text
