"""What a call costs: with nothing, with the least that anybody could do, with us, and with each peer.

Processor time of the event loop's thread, which is what the program waits for; beside it that of all threads.

Every peer is compared with the bare call of its own environment, in the same round. The floor is one CLIENT span that
is current while the call runs, and two histogram points, with our attributes, by the bare OpenTelemetry SDK.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from bench import Bench, table
from environments import PEERS, Unavailable
from turns import Command, go_round, lower_quartile, subjects

KINDS = ("metrics", "spans", "both")
TRANSPORTS = {"memory": "in memory", "stdio": "over stdio"}
_GENERATIONS = 3
"""Where the system happens to put a process makes it faster or slower for its life, so each way has several; their
median counts."""
_BOTH = {"openlit"}
"""Peers that record metrics of calls too."""


def tables(bench: Bench) -> Iterator[str]:
    """One table for each SDK and transport."""
    for sdk in bench.environments.sdks:
        for transport, words in list(TRANSPORTS.items())[bench.choose(0, 1) :]:
            yield f"**mcp {sdk}, {words}**\n\n{_table(bench, sdk, transport)}"


def _table(bench: Bench, sdk: str, transport: str) -> str:
    found, missing = commands(bench, sdk, transport)
    loops: dict[str, list[float]] = {}
    processes: dict[str, list[float]] = {}
    for _ in range(bench.choose(_GENERATIONS, 1)):
        with subjects(found) as (ready, failed):
            go_round(ready, bench.choose(10, 3), bench.choose(50, 5), bench.choose(300, 5))
            for name, subject in ready.items():
                loops.setdefault(name, []).append(subject.cost)
                processes.setdefault(name, []).append(lower_quartile(subject.turns_of_all_threads))
        missing.update({name: reason for name, reason in failed.items() if not name.startswith("bare")})
    cost, process = ({name: statistics.median(its) for name, its in figures.items()} for figures in (loops, processes))
    bare = cost["bare ours"]
    rows: list[tuple[object, ...]] = [("no telemetry", "", f"{bare:.0f}", "", "", "", "")]
    for name in sorted(cost.keys() - {f"bare {peer}" for peer in ("ours", *PEERS)}, key=order):
        way, what = name.split()
        base = f"bare {way}" if f"bare {way}" in cost else "bare ours"
        rows.append((called(way), what, f"{cost[base]:.0f}", *_added(cost, name, base), *_added(process, name, base)))
    rows += [
        (called(name.split()[0]), "", "", f"not measured: {reason}", "", "", "") for name, reason in missing.items()
    ]
    head = ["", "signals", "bare call, µs", "adds, µs", "× the floor", "in all threads, µs", "× the floor"]
    return table(head, rows)


def _added(cost: Mapping[str, float], name: str, base: str) -> tuple[str, str]:
    """What is added to the bare call, in microseconds and as a multiple of what the floor adds."""
    added = cost[name] - cost[base]
    floor = cost.get(f"floor {name.split()[1]}", 0.0) - cost["bare ours"]
    return f"{added:.0f}", f"{added / floor:.2f}" if floor > 0 else "n/a"


def commands(bench: Bench, sdk: str, transport: str) -> tuple[dict[str, Command], dict[str, str]]:
    """What is started, and why the rest is not."""
    kinds = ("both",) if bench.quick else KINDS
    found = {"bare ours": bench.command("calls.py", "bare", "both", transport, sdk=sdk)}
    for what in kinds:
        for way in ("floor", "ours"):
            found[f"{way} {what}"] = bench.command("calls.py", way, what, transport, sdk=sdk)
    if sdk.startswith("2") and not bench.quick:
        found["sdk spans"] = bench.command("calls.py", "sdk", "spans", transport, sdk=sdk)
    missing = {}
    for peer in PEERS:
        what = "both" if peer in _BOTH else "spans"
        bare = "bare_fastmcp" if peer == "fastmcp" else "bare"
        try:
            found[f"bare {peer}"] = bench.command("calls.py", bare, what, transport, sdk=sdk, peer=peer)
            found[f"{peer} {what}"] = bench.command("calls.py", peer, what, transport, sdk=sdk, peer=peer)
        except Unavailable as reason:
            missing[f"{peer} {what}"] = str(reason)
    return found, missing


def order(name: str) -> tuple[int, int, str]:
    """The floor first, then ours, then the peers."""
    way, what = name.split()
    return {"floor": 0, "ours": 1}.get(way, 2), KINDS.index(what), way


def called(way: str) -> str:
    """A way as the tables name it."""
    return {"sdk": "the SDK's own spans", "floor": "the floor", "ours": "**otel_mcp**"}.get(way, way)
