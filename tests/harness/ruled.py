"""Hosts without an adapter: named by `OTEL_MCP_CONNECTORS`, seen by the SDK layer alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.watching import Watched, watching

RULE = "odoo=*otel_mcp._demo.faulty*"


@contextlib.contextmanager
def ruled(folder: Path) -> Iterator[Watched]:
    """This process watched, with every misbehaving stdio server called ``odoo``."""
    with watching(folder / "ruled.jsonl", OTEL_MCP_CONNECTORS=RULE) as seen:
        yield seen


def outcomes(watched: Watched) -> list[tuple[str, str, str, int]]:
    """Connector, tool, outcome and attempts of each call, in the order of their ends."""
    return [
        (str(line["connector"]), str(line["tool"]), str(line["outcome"]), int(line["attempts"]))
        for line in watched.lines("call")
    ]


def limits(watched: Watched, outcome: str = "deadline") -> list[tuple[Any, Any]]:
    """Limit and source of the calls with this outcome."""
    return [(line["limit"], line["limit_source"]) for line in watched.lines("call") if line["outcome"] == outcome]
