"""What the server did, counted by the server itself and readable from outside at any moment."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any


class Counts:
    """Counters of one server process, written to a file after each change.

    The file is replaced as a whole, so a reader never sees half of it. ``{pid}`` in the path becomes the process id:
    a server that is started several times then leaves one file a start.
    """

    def __init__(self, path: str | None) -> None:
        self._path = Path(path.replace("{pid}", str(os.getpid()))) if path else None
        self.requests: Counter[str] = Counter()
        self.notifications: Counter[str] = Counter()
        self.tools: dict[str, Counter[str]] = {}
        self.faults: Counter[str] = Counter()
        self.http_statuses: Counter[str] = Counter()
        self.commits = 0
        self.sessions = 0
        self.disconnects = 0
        self.asked: Counter[str] = Counter()
        self.write()

    def request(self, method: str, tool: str | None) -> None:
        self.requests[method] += 1
        if tool is not None:
            self.tool(tool, "asked")
        self.write()

    def tool(self, tool: str, event: str) -> None:
        """``event``: ``asked``, then at most one of ``result``, ``tool_error``, ``error``, ``cancelled``."""
        self.tools.setdefault(tool, Counter())[event] += 1
        self.write()

    def as_json(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "spawns": 1,
            "sessions": self.sessions,
            "requests": dict(self.requests),
            "notifications": dict(self.notifications),
            "tools": {tool: dict(events) for tool, events in self.tools.items()},
            "faults": dict(self.faults),
            "http_statuses": dict(self.http_statuses),
            "commits": self.commits,
            "disconnects": self.disconnects,
            "asked": dict(self.asked),
        }

    def write(self) -> None:
        """Brings the file up to date. A process that is about to end calls this last."""
        if self._path is None:
            return
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        draft.write_text(json.dumps(self.as_json()), encoding="utf-8")
        draft.replace(self._path)


def total(files: list[Path]) -> dict[str, Any]:
    """The sum over the count files of several processes; ``pid`` becomes the list of ids."""
    result: dict[str, Any] = {"pid": []}
    for file in files:
        for name, value in json.loads(file.read_text(encoding="utf-8")).items():
            if name == "pid":
                result["pid"].append(value)
            else:
                result[name] = _sum(result.get(name), value)
    return result


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, dict) or isinstance(right, dict):
        left, right = left or {}, right or {}
        return {name: _sum(left.get(name), right.get(name)) for name in left.keys() | right.keys()}
    return (left or 0) + (right or 0)
