"""Writes the table of docs/faults.md from what the tests have seen: ``python -m faults.page SEEN.jsonl``.

Standard library only: the Python that runs `make` runs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faults.rows import ROWS, Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
HEAD = "| fault | calls lost | records lost | of these in the last run | the program ends | left behind |"
BEGIN, END = "<!-- the table: make faults -->", "<!-- end of the table -->"


def promised(row: Row) -> tuple[str, str, str, str, str]:
    """The cells that do not depend on the run."""
    ends = "as without us" if not row.later else f"at most {row.later:g} s later"
    return row.fault, "none", row.lost, ends, row.left


def main(file: str) -> None:
    """Write the table, and print it.

    Raises:
        SystemExit: a row was not seen; its test failed, or did not run.
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    for line in Path(file).read_text().splitlines():
        entry = json.loads(line)
        runs.setdefault(entry["fault"], []).append(entry)
    missing = [row.fault for row in ROWS.values() if row.fault not in runs]
    if missing:
        raise SystemExit(f"not seen: {'; '.join(missing)}; the page stays as it is")
    lines = [HEAD, "|---|---|---|---|---|---|"]
    for row in ROWS.values():
        fault, calls, lost, ends, left = promised(row)
        lines.append(f"| {fault} | {calls} | {lost} | {_seen(runs[row.fault])} | {ends} | {left} |")
    where = sorted({f"mcp {entry['mcp']} on Python {entry['python']}" for each in runs.values() for entry in each})
    table = "\n".join([*lines, "", f"The last run: {', '.join(where)}; the greater number of each row."])
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}")
    print(table)


def _seen(runs: Iterable[dict[str, Any]]) -> str:
    entries = list(runs)
    lines = max(entry["lines"] for entry in entries)
    spans = max((entry["spans"] for entry in entries if entry["spans"] is not None), default=None)
    seen = f"{lines} lines" if lines != 1 else "1 line"
    return seen if spans is None else f"{seen}, {spans} spans"


if __name__ == "__main__":
    main(*sys.argv[1:])
