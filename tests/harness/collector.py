"""A process that takes OTLP, and what it has taken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parents[1] / "servers" / "otlp_receiver.py"


class Collector:
    """The receiver process; ``mode`` is ``ok``, ``blackhole`` or ``error``."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.file = folder / f"otlp-{mode}.jsonl"
        self._mode = mode
        self._start(0)
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _start(self, port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(self.file), "--mode", self._mode, "--port", str(port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def restart(self) -> None:
        """Another process on the same port; the old one is killed."""
        self.stop()
        self._start(self.port)

    def taken(self, signal: str | None = None) -> list[dict[str, Any]]:
        """The requests, of one signal or of all."""
        if not self.file.exists():
            return []
        requests = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [request for request in requests if signal in (None, request["signal"])]

    def names(self, signal: str) -> list[str]:
        """Names of the spans, metrics or events taken."""
        return [name for request in self.taken(signal) for name in request["items"]]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
