"""Connectors whose calls have no time limit, as the call log tells: nothing else knows before a call is made."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from otel_mcp._cli.doctor_model import Section
from otel_mcp._ground.settings import Settings
from otel_mcp._report.files import matches, written_by

_LOOK_BACK: Final = 8_000_000
"""Bytes at the end of the logs: some ten thousand calls, read in a fraction of a second."""


def limits() -> Section:
    """How many of the last calls of each connector had a limit that was seen."""
    section = Section("limits")
    template = Settings.from_environment().call_log
    logs = [] if template is None else [path for path in map(Path, matches(written_by(template))) if path.is_file()]
    if not logs:
        section.facts["calls"] = "unknown: OTEL_MCP_CALL_LOG names no call log that exists"
        return section
    calls: Counter[str] = Counter()
    limited: Counter[str] = Counter()
    for entry in _calls(logs):
        name = str(entry.get("connector"))
        calls[name] += 1
        limited[name] += _had_a_limit(entry)
    for name, number in sorted(calls.items()):
        section.facts[name] = f"{limited[name]} of the last {number} calls had a time limit"
        if not limited[name]:
            section.findings.append(
                f"none of the last {number} calls to {name} had a time limit, so a server that hangs is waited for "
                "without end: give ClientSession or call_tool a read_timeout_seconds"
            )
    return section


def _had_a_limit(entry: dict[str, Any]) -> bool:
    """Whether any clock is known to have run: a source that was asked and has none stands in `limits` as null."""
    known = entry.get("limits")
    every = [entry.get("limit"), *(known.values() if isinstance(known, dict) else ())]
    return any(value is not None for value in every)


def _calls(logs: list[Path]) -> Iterator[dict[str, Any]]:
    for line in _last_lines(logs):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # torn at the beginning or the end, or foreign
        if isinstance(entry, dict) and entry.get("event") == "call" and not entry.get("simulated"):
            yield entry


def _last_lines(logs: list[Path]) -> Iterator[bytes]:
    """Of the files written last, as far as the look back goes."""
    left = _LOOK_BACK
    for path in sorted(logs, key=lambda log: log.stat().st_mtime, reverse=True):
        with contextlib.suppress(OSError), path.open("rb") as file:  # `files` tells of what cannot be read
            size = file.seek(0, 2)
            file.seek(max(0, size - left))
            yield from file.read().split(b"\n")
            left -= size
        if left <= 0:
            return
