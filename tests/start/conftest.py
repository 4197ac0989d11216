"""Children that run start-up as a program does, and a collector they may send to."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest

from harness.collector import Collector
from harness.package import path_entry

CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "PYTHONPATH"))}

PRELUDE = """
import json, os, sys, threading, time
from otel_mcp._record.recorder import recorder
from otel_mcp._start import runtime
from otel_mcp._start.runtime import ensure_started

class Bound:
    def __getitem__(self, signal):
        providers = runtime._runtime.providers
        return providers._bound[signal] if providers is not None else None
    def all(self):
        return self["traces"], self["metrics"], self["logs"]

bound = Bound()

def count(value=1, **labels):
    bound["metrics"].get_meter("test").create_counter("test.calls").add(value, labels)

def scrape(address=None, path="/metrics"):
    import urllib.request
    url = f"http://{{address or runtime.in_force()['endpoint']}}{{path}}"
    return urllib.request.urlopen(url, timeout=10).read().decode()
"""


@dataclass
class Ended:
    """How a child ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        """What start-up said, without its prefix."""
        assert all(line.startswith("otel_mcp: ") for line in self.err.splitlines()), self.err
        return [line.removeprefix("otel_mcp: ") for line in self.err.splitlines()]


@pytest.fixture
def child(tmp_path):
    """Run a script in a Python of its own with these variables; the port is a free one unless it says otherwise."""

    def run(script, *, prelude=True, arguments=(), python=sys.executable, timeout=60, **variables):
        environment = {
            **CLEAN,
            **path_entry(),
            "PYTHONWARNINGS": "error,ignore::ResourceWarning,ignore:This process:DeprecationWarning",
            "OTEL_EXPORTER_PROMETHEUS_PORT": "0",
            **variables,
        }
        environment = {key: value for key, value in environment.items() if value is not None}
        text = (PRELUDE.format() if prelude else "") + textwrap.dedent(script)
        done = subprocess.run(
            [python, *arguments, "-c", text],
            capture_output=True, text=True, timeout=timeout, env=environment, cwd=tmp_path, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def collector(tmp_path):
    """Starts receivers (`ok`, `blackhole`, `error`) that end with the test."""
    started = []

    def start(mode="ok"):
        started.append(Collector(tmp_path, mode))
        return started[-1]

    yield start
    for each in started:
        each.stop()
