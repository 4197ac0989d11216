"""What a call costs with us, without us, and with the least that anybody could do.

    PYTHONPATH=. python benchmarks/cost_per_call.py [--calls 50] [--rounds 60]

Each way of watching a call lives in a process of its own, with an in-memory peer that answers at once, and they take
turns (`turns.py`). Counted is the processor time of the event loop's thread. The floor is the bare OpenTelemetry SDK:
one CLIENT span, current while the call runs, with the attributes that ours has, and the same two histogram points.
Prints Markdown; the last column is our cost over the floor's.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from pathlib import Path

from turns import Subject, go_round, subjects

_SUBJECT = str(Path(__file__).with_name("call_subjects.py"))
_KINDS = ("metrics", "spans", "both")


def commands() -> dict[str, list[str]]:
    """Every subject's command line."""
    ways = {f"{way} {what}": [_SUBJECT, way, what] for what in _KINDS for way in ("floor", "ours")}
    return {"bare": [_SUBJECT, "bare", "nothing"], **ways}


def report(ready: dict[str, Subject], calls: int, rounds: int) -> str:
    """The table."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("mcp", "opentelemetry-sdk"))
    bare = ready["bare"].cost
    lines = [
        f"Python {platform.python_version()}, {versions}. Lower quartile of {rounds} turns of {calls} calls; "
        f"a bare call: {bare:.0f} µs.",
        "",
        "| | the floor adds, µs | we add, µs | ours / floor |",
        "|---|---|---|---|",
    ]
    for what in _KINDS:
        floor, ours = (ready[f"{way} {what}"].cost - bare for way in ("floor", "ours"))
        lines.append(f"| {what} | {floor:.1f} | {ours:.1f} | {ours / floor:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    with subjects(commands()) as ready:
        go_round(ready, given.rounds, given.calls)
        print(report(ready, given.calls, given.rounds))


if __name__ == "__main__":
    main()
