"""The statistical report, where the extra `report` is installed, on the demo's call log or on a simulated one."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

_LIBRARIES = ("duckdb", "scipy", "rich")
_SEED = 1  # the same number of days gives the same clusters to everybody who tries it


def statistics(log: Path) -> bool:
    """Prints the report on `log`; false if a library that it needs is missing."""
    if not all(importlib.util.find_spec(name) for name in _LIBRARIES):
        return False
    from otel_mcp._report.build import report_for
    from otel_mcp._report.terminal import console, show

    show(report_for([log]), console())
    return True


def run(log: Path, days: float) -> int:
    """Writes a simulated call log with planted clusters and reports on it. Returns an exit code."""
    from otel_mcp._report.simulate import write_history

    lines = write_history(log, days, seed=_SEED)
    unit = "day" if days == 1 else "days"
    print(f"{lines} lines of a simulated call log, {days:g} {unit}: {log}\n", flush=True)
    if not statistics(log):
        print(
            "otel-mcp demo: the log is written, and reading it needs more: pip install 'otel-mcp-client[report]', "
            f"then otel-mcp report {shlex.quote(str(log))}",
            file=sys.stderr,
        )
        return 2
    return 0
