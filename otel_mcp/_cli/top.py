"""`otel-mcp top`: what is open now, oldest first."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Final

from otel_mcp._cli import top_choice
from otel_mcp._cli.top_model import Picture, Row, Source, Unreadable
from otel_mcp._ground.text import visible

_REFRESH: Final = 1.0
"""Seconds between two looks. A scrape of a full endpoint takes tens of milliseconds of the watched program."""
_LONGEST_NOTE: Final = 160
"""Characters. It is the last column, and may have several things to say."""
_HEADINGS: Final = ("AGE", "CONNECTOR", "WHAT", "PHASE", "LIMIT", "HOLDER", "STATE", "NOTE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's own words."""
    parser.add_argument(
        "source", nargs="?", metavar="URL|FILE", help=f"an endpoint or a call log; default: {top_choice.DEFAULT}"
    )
    parser.add_argument("--once", action="store_true", help="print once and end")
    parser.add_argument("--json", action="store_true", help="print as JSON; implies --once")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 0, or 2 where the source cannot be read."""
    try:
        source = top_choice.source(arguments.source)
        if arguments.json:
            print(json.dumps(source.look().to_json(), indent=2))
        elif arguments.once or not sys.stdout.isatty():
            print(render(source.look()))
        else:
            _watch(source)
    except Unreadable as error:
        print(f"otel-mcp top: {visible(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass  # the way out of a display that never ends
    return 0


def _watch(source: Source) -> None:
    while True:
        text = render(source.look())
        sys.stdout.write(f"\x1b[H\x1b[2J{text}\n")
        sys.stdout.flush()
        time.sleep(_REFRESH)


def render(picture: Picture) -> str:
    """The table as plain text."""
    lines = [_HEADINGS, *(_cells(row) for row in picture.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    down = [(name, state) for name, state in picture.states.items() if state not in {"ready", "closed"}]
    unready = sorted(f"{_cell(name)} {_cell(state)}" for name, state in down)
    tail = [f"not ready: {', '.join(unready)}"] if down else []
    return "\n".join([f"{picture.source}: {_counted(picture)}", *(table if picture.rows else []), *tail])


def _counted(picture: Picture) -> str:
    """How much is open, in words."""
    least = "at least " if picture.at_least else ""
    calls = f"{least}{_number(picture.calls, 'call')} open" if picture.calls else ""
    requests = f"{_number(picture.requests, 'request')} of no call open" if picture.requests else ""
    silent = f"{_number(picture.silent, 'call')} not heard of" if picture.silent else ""
    return ", ".join(filter(None, (calls, requests, silent))) or "nothing is open"


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _cells(row: Row) -> tuple[str, ...]:
    what = " ".join(_cell(part) for part in (row.method, row.tool) if part) or "call"
    if row.count is not None and row.count > 1:
        what = f"{row.count} x {what}"
    limit = "-" if row.limit is None else f"{row.limit:g} s"
    if row.limit is not None and row.limit_source:
        limit += f" {_cell(row.limit_source)}"
    rest = (row.phase, limit, row.holder, row.state)
    return (f"{row.age:.1f} s", _cell(row.connector), what, *map(_cell, rest), _cell(row.note, _LONGEST_NOTE))


def _cell(text: str | None, longest: int = 60) -> str:
    """Names come from servers: nothing that moves the cursor, and no more than a column holds."""
    return visible(text[:longest])[:longest] if text else "-"
