"""The report at the end: what the call log says, and nothing else."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def read(log: Path) -> list[Event]:
    """The events in a call log, none if there is no such file; a torn or foreign line is left out."""
    events: list[Event] = []
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "event" in event:
                events.append(event)
    return events


def totals(events: Iterable[Event]) -> dict[str, Counter[str]]:
    """Connector to outcome to number of calls."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for call in _only(events, "call"):
        counted[call["connector"]][call["outcome"]] += 1
    return dict(sorted(counted.items()))


def text(events: list[Event]) -> str:
    """The whole report."""
    parts = [_table(totals(events)), _deadlines(events), _next_steps(events)]
    return "\n\n".join(part for part in parts if part)


def _only(events: Iterable[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def _table(counted: dict[str, Counter[str]]) -> str:
    if not counted:
        return "No call was recorded."
    outcomes = [outcome for outcome in _ORDER if any(counts[outcome] for counts in counted.values())]
    width = max(map(len, counted))
    head = f"{'':{width}}  calls  " + "  ".join(f"{outcome:>{_COLUMN}}" for outcome in outcomes)
    lines = ["Calls by connector and outcome", "", head]
    for connector, counts in counted.items():
        cells = "  ".join(f"{counts[outcome] or '':>{_COLUMN}}" for outcome in outcomes)
        lines.append(f"{connector:{width}}  {counts.total():5}  {cells}".rstrip())
    return "\n".join(lines)


_LONG = 5.0
"""Seconds; no call of the demo that is answered takes longer."""
_ORDER = ("ok", "tool_error", "error", "deadline", "cancelled", "disconnected", "orphaned", "rejected")
_ANSWERED = _ORDER[:3]
_COLUMN = max(map(len, _ORDER))


def _deadlines(events: list[Event]) -> str:
    fallen = Counter(
        (call["connector"], call.get("tool"), call.get("limit"), call.get("limit_source"))
        for call in _only(events, "call")
        if call["outcome"] == "deadline"
    )
    if not fallen:
        return "No call ran into a time limit."
    lines = ["Where the deadlines fell", ""]
    for (connector, tool, limit, source), number in fallen.most_common():
        clock = f"limit {_seconds(limit)} set by {source}" if source else f"limit {_seconds(limit)}"
        lines.append(f"{number:4} x {connector}, tool {tool}, {clock}")
    return "\n".join(lines)


def _next_steps(events: list[Event]) -> str:
    steps = [*_late(events), *_hanging(events), *_without_limit(events), *_refused(events), *_dying(events)]
    return "\n".join(["What to look at next", "", *(f"- {step}" for step in steps)]) if steps else ""


def _late(events: list[Event]) -> Iterable[str]:
    for connector, late in _by_connector(_only(events, "late_response")).items():
        worst = max(event["delay"] or 0.0 for event in late)
        yield (
            f"{connector}: {_counted(len(late), 'answer')} came after the limit, at most {worst:.1f} s late. "
            "The server is slow, not dead: a longer limit would have had them."
        )


def _hanging(events: list[Event]) -> Iterable[str]:
    answered_late = {(event["connector"], event["id"]) for event in _only(events, "late_response")}
    cut = [call for call in _only(events, "call") if call["outcome"] == "deadline"]
    silent = [call for call in cut if (call["connector"], call["id"]) not in answered_late]
    for connector, calls in _by_connector(silent).items():
        tools = ", ".join(sorted({str(call.get("tool")) for call in calls}))
        yield f"{connector}: {_counted(len(calls), 'call')} of {tools} never answered. A longer limit waits longer."


def _without_limit(events: list[Event]) -> Iterable[str]:
    """Calls that nobody answered and no clock ended."""
    longest: dict[tuple[str, str], float] = {}
    for event in events:
        if event["event"] in ("call", "still_waiting") and event.get("limit") is None:
            open_for = event.get("age") or event.get("elapsed") or 0.0
            if event.get("outcome") not in _ANSWERED and open_for > _LONG:
                key = (event["connector"], str(event.get("tool") or event.get("method")))
                longest[key] = max(longest.get(key, 0.0), open_for)
    for (connector, what), seconds in longest.items():
        yield f"{connector}: a call of {what} was open for {seconds:.0f} s, and nobody had set a limit. Set one."


def _refused(events: list[Event]) -> Iterable[str]:
    refused = [call for call in _only(events, "call") if call["outcome"] == "tool_error"]
    for connector, calls in _by_connector(refused).items():
        tools = ", ".join(sorted({str(call.get("tool")) for call in calls}))
        yield f"{connector}: {_counted(len(calls), 'call')} of {tools} refused. The server is well: mind the arguments."


def _dying(events: list[Event]) -> Iterable[str]:
    lost = [call for call in _only(events, "call") if call["outcome"] in ("disconnected", "orphaned")]
    for connector, calls in _by_connector(lost).items():
        codes = {end["exit_code"] for end in _only(events, "session_end") if end["connector"] == connector}
        known = ", ".join(str(code) for code in sorted(codes - {None}))
        reason = f" The server's exit code was {known}." if known else ""
        yield f"{connector}: {_counted(len(calls), 'call')} open when the connection went.{reason} See its own log."


def _by_connector(events: Iterable[Event]) -> dict[str, list[Event]]:
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event["connector"]].append(event)
    return dict(sorted(grouped.items()))


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g} s"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
