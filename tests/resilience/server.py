"""The fault server of tests/servers as a process, and what arrived at it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil

SERVERS = Path(__file__).parent.parent / "servers"


class StdioServer:
    """How to start the server, and its ledger."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.ledger = folder / "ledger.jsonl"
        self.flags = flags

    def parameters(self) -> Any:
        from mcp import StdioServerParameters

        script = str(SERVERS / "resilience_stdio.py")
        return StdioServerParameters(command=sys.executable, args=[script, "--ledger", str(self.ledger), *self.flags])

    def seen(self) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()]

    def count(self, method: str, tool: str | None = None) -> int:
        return sum(1 for line in self.seen() if line["method"] == method and (tool is None or line.get("tool") == tool))

    def processes(self) -> list[int]:
        """Process ids of its generations, oldest first."""
        return [line["pid"] for line in self.seen() if line["method"] == "start"]

    async def has_seen(self, method: str, tool: str | None = None, times: int = 1) -> None:
        """Wait until the server has read that: overlap is proven by what arrived, not by time."""
        await reaches(lambda: self.count(method, tool) >= times)


async def reaches(condition: Callable[[], bool]) -> None:
    """Wait, within reason, until `condition` holds: a process of its own cannot set an event of ours."""
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children() -> list[int]:
    return [child.pid for child in psutil.Process(os.getpid()).children(recursive=True)]
