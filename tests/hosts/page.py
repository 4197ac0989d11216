"""The page `docs/hosts/seen.md`: what the last run of each host has seen."""

from __future__ import annotations

from collections.abc import Iterable

from matrix.environments import ROOT
from matrix.results import Result

from harness.signals import TABLE

FILE = ROOT / "docs" / "hosts" / "seen.md"
COMMON = ("ok", "tool error", "deadline", "limit and its source", "server death", "told the same")
"""Signals with a column of their own; the others stand in the last one."""

_TOP = """\
# What was seen of each host

`make test-hosts` drives each host's own package, in an environment of its own, against a real server that misbehaves on
request, and writes this page from the last run of each. `yes`: a test saw it. Where nothing is said, the host has no
such thing, or it is not seen: [the page on hosts](index.md) says which.

*Told the same* means that the program got the same results and exceptions with us and without us.
"""


def text(results: Iterable[Result]) -> str:
    """The page, from the results of runs."""
    heading = ["host", "packages", "Python", *COMMON, "seen as well"]
    rows = [heading, ["---"] * len(heading), *map(_row, results)]
    return _TOP + "\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(result: Result) -> list[str]:
    if not result.passed:
        return [result.name, "", "", *[""] * len(COMMON), result.reason]
    seen = {signal for signal, held in result.tables.get(TABLE, {}).items() if held}
    common = ["yes" if signal in seen else "" for signal in COMMON]
    return [result.name, result.packages, result.python, *common, ", ".join(sorted(seen - {*COMMON}))]
