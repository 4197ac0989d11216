"""A real Prometheus as a child process, and the questions the tests ask it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.waiting import wait_for

DEBIAN_PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "docker-compose": "docker-compose",
    "node": "nodejs",
}
ROOMY = {**os.environ, "GOGC": "400"}
"""For Go programs that work through a month of samples: a sixth of that is collecting garbage, unless it may gather."""
Sample = tuple[dict[str, str], float]
PROXYLESS = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def required(program: str) -> str:
    """The program's path; without it the test fails on CI and is loudly skipped elsewhere."""
    found = shutil.which(program)
    if found:
        return found
    missing = f"{program} is not installed: apt-get install {DEBIAN_PACKAGES[program]}"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@dataclass(frozen=True)
class Prometheus:
    url: str

    def api(self, path: str, **parameters: Any) -> Any:
        """The `data` of an answer; a refused query is an AssertionError with Prometheus' own words."""
        body = urllib.parse.urlencode(parameters, doseq=True).encode()
        try:
            with PROXYLESS.open(f"{self.url}/api/v1/{path}", data=body, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{parameters}: {refused.read().decode()}") from None

    def instant(self, query: str, at: float) -> list[Sample]:
        data = self.api("query", query=query, time=at)
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(row["metric"], float(row["value"][1])) for row in data["result"]]

    def range(self, query: str, start: float, end: float, step: float) -> list[tuple[dict[str, str], list[list[Any]]]]:
        data = self.api("query_range", query=query, start=start, end=end, step=step)
        return [(row["metric"], row["values"]) for row in data["result"]]

    def get(self, path: str) -> Any:
        with PROXYLESS.open(f"{self.url}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]


@contextlib.contextmanager
def running(config: Path, data: Path, *flags: str) -> Iterator[Prometheus]:
    """Prometheus on a free loopback port, ready to answer; ended with the block."""
    address = f"127.0.0.1:{free_port()}"
    log = data.parent / "prometheus.log"
    command = [
        required("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={data}",
        f"--web.listen-address={address}", "--storage.tsdb.retention.time=100y", "--log.level=warn", *flags,
    ]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=ROOMY)
    try:
        wait_until_ready(process, f"http://{address}/-/ready", log)
        yield Prometheus(f"http://{address}")
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    def answers_or_has_ended() -> bool:
        if process.poll() is not None:
            raise AssertionError(f"{url}: the process ended at its start: {log.read_text()[-2000:]}")
        with contextlib.suppress(OSError), PROXYLESS.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    wait_for(answers_or_has_ended, timeout=30)


def blocks_from(files: list[Path], data: Path) -> None:
    """Imports OpenMetrics files. Blocks of a day instead of two hours: promtool reads a file once for each block."""
    for file in files:
        command = [required("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=24h", "openmetrics", "-q"]
        done = subprocess.run([*command, str(file), str(data)], capture_output=True, text=True, check=False, env=ROOMY)
        assert done.returncode == 0, done.stderr
