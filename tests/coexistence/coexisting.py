"""Runs the unchanged program beside another instrumentor: alone, loaded before us, loaded after us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.package import environment
from harness.servers import Fault, servers_in

ORDERS = ("alone", "before", "after")


@dataclass(frozen=True)
class Beside:
    out: str
    spans: list[dict[str, Any]]
    calls: list[dict[str, Any]]

    def ours(self) -> Counter[str]:
        """Our spans by method; those without one are connects."""
        return Counter(span["method"] for span in self.spans if span["scope"] == "otel_mcp" and span["method"])

    def theirs(self) -> int:
        return sum(span["scope"] != "otel_mcp" for span in self.spans)

    def attempts(self) -> Counter[str]:
        """Attempts of calls, by method, as the call log has them."""
        return Counter(call["method"] for call in self.calls for _ in range(call["attempts"]))


def run_beside(peer: str, folder: Path) -> Mapping[str, Beside]:
    """What the program printed and what was seen of it, for each order."""
    with servers_in(folder) as servers:
        stdio, good, bad = servers.stdio(), servers.http(), servers.http(Fault("status", 503, tool="progress"))
        config = folder / "config.json"
        target = stdio.target
        config.write_text(
            json.dumps({"command": target.command, "args": target.args, "env": target.env,
                        "url": good.target, "bad_url": bad.target})
        )  # fmt: skip
        program = [sys.executable, str(Path(__file__).with_name("beside.py")), str(config)]
        running = {}
        for order in ORDERS:
            variables = {"OTEL_MCP_CALL_LOG": str(folder / f"{order}.jsonl"), "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}
            running[order] = subprocess.Popen(
                [*program, str(folder / f"{order}.json"), peer, order],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment(**variables),
            )  # fmt: skip
        try:
            printed = {order: process.communicate(timeout=LONG_ENOUGH)[0] for order, process in running.items()}
        finally:
            for process in running.values():
                process.kill()
    return {
        order: Beside(
            printed[order],
            json.loads((folder / f"{order}.json").read_text()),
            events(read_jsonl(folder / f"{order}.jsonl"), "call"),
        )
        for order in ORDERS
    }
