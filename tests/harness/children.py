"""Programs run as child processes, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.package import environment

LONG_ENOUGH = 120.0  # seconds; a bound for the whole suite's sake, no test asserts on it


def run_script(
    script: Path | str, *arguments: str, env: dict[str, str] | None = None, timeout: float = LONG_ENOUGH
) -> subprocess.CompletedProcess[str]:
    """Runs a Python file, or source text containing a line break, to its end and returns what it printed.

    ``env`` is added to a clean environment (see ``package.environment``). The exit code is the caller's to check.
    """
    return subprocess.run(
        [*command(script), *arguments], capture_output=True, text=True, env=environment(**(env or {})), timeout=timeout
    )


def start_script(script: Path | str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """The same, still running, with pipes on all three standard streams."""
    return subprocess.Popen(
        [*command(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**(env or {})),
    )


def command(script: Path | str) -> list[str]:
    if isinstance(script, str) and "\n" in script:
        return [sys.executable, "-c", script]
    return [sys.executable, str(script)]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a JSON Lines file; none if it does not exist yet. A torn last line is left out."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line]


def events(lines: Iterable[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == event]
