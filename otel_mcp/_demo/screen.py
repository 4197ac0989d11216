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
    from rich import box
    from rich.live import Live
    from rich.table import Table

    def table(rows: Mapping[str, Row], left: float) -> Table:
        drawn = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=f"{left:.0f} s left", caption_justify="left")
        drawn.add_column("connector", no_wrap=True)
        drawn.add_column("which", no_wrap=True)
        # Eight columns do not fit beside the rest on 80: those that nothing has happened in are left out.
        seen = [outcome for outcome in OUTCOMES if any(row.calls.get(outcome) for row in rows.values())]
        for outcome in seen:
            drawn.add_column(outcome, justify="right", no_wrap=True)
        drawn.add_column("now", no_wrap=True)
        for name, plot in plots.items():
            row = rows.get(name, Row())
            drawn.add_row(name, plot, *(str(row.calls.get(outcome) or "") for outcome in seen), _now(row))
        return drawn

    with Live(table({}, 0.0), refresh_per_second=4) as screen:
        yield lambda rows, left: screen.update(table(rows, left))


def _now(row: Row) -> str:
    """What the connector is doing: the oldest open call, or its state where that is not the usual one."""
    if not row.open_for:
        return row.state if row.state != "ready" else ""
    text = f"{row.open_for:.1f} s {row.phase}"
    return f"[red]{text}[/red]" if row.open_for > _ALARMING else text
