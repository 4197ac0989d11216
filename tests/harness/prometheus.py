"""A real Prometheus server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.real_parts import find, free_port
from harness.waiting import wait_for


@dataclass(frozen=True)
class Prometheus:
    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def query(self, expression: str, **parameters: str) -> list[dict[str, Any]]:
        """The result of an instant query: [{"metric": {...}, "value": [time, "number"]}, …]."""
        answer = self.get("/api/v1/query", query=expression, **parameters)
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def value(self, expression: str) -> float | None:
        """The one number that ``expression`` gives, ``None`` for an empty result."""
        result = self.query(expression)
        if len(result) > 1:
            raise AssertionError(f"{expression}: {len(result)} series")
        return float(result[0]["value"][1]) if result else None

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"{self.url}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            parsed: dict[str, Any] = json.loads(answer.read())
            return parsed

    def targets_up(self) -> int:
        targets = self.get("/api/v1/targets")["data"]["activeTargets"]
        return sum(target["health"] == "up" for target in targets)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextlib.contextmanager
def prometheus(
    folder: Path,
    *,
    scrape_ports: Sequence[int] = (),
    interval: str = "1s",
    config: str | None = None,
    options: Sequence[str] = (),
) -> Iterator[Prometheus]:
    """A Prometheus that is ready, with its data in ``folder``, ended afterwards.

    ``config`` is a whole configuration; without one it scrapes ``scrape_ports`` on loopback, as the job ``mcp``, every
    ``interval``.
    """
    binary = find("prometheus")
    file = folder / "prometheus.yml"
    file.write_text(config if config is not None else _config(scrape_ports, interval), encoding="utf-8")
    port = free_port()
    log = folder / "prometheus.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                binary,
                f"--config.file={file}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
                *options,
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        server = Prometheus(f"http://127.0.0.1:{port}", log, process)
        try:
            wait_for(lambda: server.ready() or process.poll() is not None, timeout=60)
            if process.poll() is not None:
                raise AssertionError(f"prometheus ended at its start: {log.read_text()[-2000:]}")
            yield server
        finally:
            process.terminate()
            process.wait()


def _config(ports: Sequence[int], interval: str) -> str:
    targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
    return (
        f"global: {{scrape_interval: {interval}, scrape_timeout: {interval}}}\n"
        f"scrape_configs: [{{job_name: mcp, static_configs: [{{targets: [{targets}]}}]}}]\n"
    )
