"""What each way of watching records of the same seven ends of a call, seen on a real server over stdio.

A cell has every span of the call: its status, its `error.type` where it has one, in brackets the type of an exception
noted on it, and in ours the outcome and whose limit it was. "2 m" says that two counters or histograms moved. The last
line counts how many of the seven can be told from each other by their spans. Where the caller got something else than
without an instrumentor, that stands in bold.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench import Bench, table
from environments import PEERS, Environment, Unavailable
from turns import Command, Failed, progress, subjects

OUTCOMES = (
    "ok",
    "tool error",
    "JSON-RPC error",
    "deadline of the SDK",
    "deadline of the caller",
    "cancelled",
    "server dies",
)
_HEADINGS = {"ours": "otel_mcp", "sdk": "the SDK alone"}
_AT_ONCE = {"DD_TRACE_PARTIAL_FLUSH_MIN_SPANS": "1"}
"""Datadog's tracer gives a session's spans away when it ends, or when there are so many."""

Seen = dict[str, dict[str, Any]]


def tables(bench: Bench) -> Iterator[str]:
    """One table for each SDK; below it who is not in it, and why."""
    for sdk in bench.environments.sdks:
        commands, missing = _commands(bench, sdk)
        with subjects(commands) as (ready, failed):
            seen: dict[str, Seen] = {way: {} for way in ready}
            for outcome in OUTCOMES[:: bench.choose(1, 3)]:
                progress(f"records, mcp {sdk}: {outcome}")
                for subject in ready.values():
                    subject.tell(outcome)
                for way, subject in ready.items():
                    try:
                        seen[way][outcome] = subject.listen()
                    except Failed as failure:
                        failed[way] = str(failure)
        progress()
        yield f"**mcp {sdk}**\n\n{_table({way: its for way, its in seen.items() if way not in failed})}"
        reasons = {**missing, **failed}
        if reasons:
            yield "\n".join(f"- {way}, not in the table: {reason}" for way, reason in reasons.items())


def _commands(bench: Bench, sdk: str) -> tuple[dict[str, Command], dict[str, str]]:
    server = [bench.environments.python(Environment(sdk)), "-m", "otel_mcp._demo.faulty"]
    found = {way: bench.command("recording.py", way, *server, sdk=sdk) for way in ("ours", "sdk")}
    missing = {}
    for peer in PEERS:
        try:
            found[peer] = bench.command("recording.py", peer, *server, sdk=sdk, peer=peer, **_AT_ONCE)
        except Unavailable as reason:
            missing[peer] = str(reason)
    return found, missing


def _table(seen: dict[str, Seen]) -> str:
    plain = seen["sdk"]
    rows = [
        [outcome, *(_cell(its[outcome], plain[outcome]["caller"]) for its in seen.values())]
        for outcome in OUTCOMES
        if outcome in plain
    ]
    rows.append(["told apart", *(_told_apart(its) for its in seen.values())])
    return table(["", *(_HEADINGS.get(way, way) for way in seen)], rows)


def _cell(seen: dict[str, Any], caller: str) -> str:
    spans = Counter(_span(span) for span in seen["spans"])
    parts = [f"{text}{f' ×{count}' if count > 1 else ''}" for text, count in spans.items()] or ["no span"]
    if seen["metrics"]:
        parts.append(f"{seen['metrics']} m")
    if seen["caller"] != caller:
        parts.append(f"**the caller: {seen['caller']}, without: {caller}**")
    return "; ".join(parts)


def _span(span: dict[str, Any]) -> str:
    parts = [span["status"]]
    parts += [f"`{span[key]}`" for key in ("type", "outcome", "limit") if span[key] is not None]
    if span["exception"] and span["exception"] != span["type"]:
        parts.append(f"({span['exception'].rpartition('.')[2]})")
    return " ".join(parts)


def _told_apart(its: Seen) -> str:
    """How many different records the outcomes have left; one that left none counts for nothing."""
    records = {json.dumps(seen["spans"]) for seen in its.values() if seen["spans"]}
    return f"{len(records)} of {len(its)}"
