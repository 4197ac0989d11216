"""What it costs to start, with the variable unset and set, and to import.

Each line is a Python process from its start to its end, with others by turns; processor time, lower quartile. Unset,
the start file looks at one variable. Set, the hooks are armed when the SDK is imported, and telemetry itself begins
with the first session, which is the last line: the same program without us, and with us, connects and calls once.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping

from bench import Bench, table
from environments import Environment
from matrix.environments import ROOT
from turns import SUBJECTS, clean_environment, lower_quartile, progress

_ONE_CALL = """
import anyio, sys
sys.path.insert(0, {folder!r})
from transports import calling
async def main():
    async with calling("memory") as call:
        await call()
anyio.run(main)
"""
_START_FILE = ROOT / "otel_mcp_start.pth"
"""One line, which Python runs as it stands. It imports `os`, as Python's own `site` has done before."""
_IMPORT_LINE = re.compile(r"import time: +\d+ \| +(\d+) \| (\S+)$")
_PATH = "import sys; sys.path += {paths!r}; "
_SET = {"OTEL_MCP_ENABLED": "true", "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}


def tables(bench: Bench) -> Iterator[str]:
    """Processes, then imports."""
    python = bench.environments.python(Environment(bench.sdk))
    start, one_call = f"{_START_FILE.read_text().strip()}\n", _ONE_CALL.format(folder=str(SUBJECTS))
    programs: dict[str, tuple[str, Mapping[str, str]]] = {
        "`pass`, start file not read": ("import os", {}),
        "`pass`, start file read, variable unset": (start, {}),
        "`pass`, variable set": (start, _SET),
        "`import mcp`, variable unset": (start + "import mcp", {}),
        "`import mcp`, variable set": (start + "import mcp", _SET),
        "one call, variable unset": (start + one_call, {}),
        "one call, variable set": (start + one_call, _SET),
    }
    spent: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(bench.choose(7, 1)):
        for name, (code, variables) in programs.items():
            progress(f"start-up: {name}, {number + 1}")
            spent[name].append(_processor_time(python, code, variables))
    progress()
    costs = {name: lower_quartile(its) for name, its in spent.items()}
    yield table(["program", "ms"], [(name, f"{cost * 1000:.1f}") for name, cost in costs.items()])
    yield _imports(bench, python)


def _processor_time(python: str, code: str, variables: Mapping[str, str]) -> float:
    """Seconds of user and system time of one process; without `site`'s .pth files, so that `code` alone decides."""
    process = subprocess.Popen(
        [python, "-I", "-S", "-c", _PATH.format(paths=_paths(python)) + code],
        env={**clean_environment(), **variables},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"start-up: exit code {process.returncode} of: {code}")
    return used.ru_utime + used.ru_stime


@functools.cache
def _paths(python: str) -> list[str]:
    """What `python` would find its packages in."""
    code = "import json, sys; print(json.dumps([p for p in sys.path if p]))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _imports(bench: Bench, python: str) -> str:
    """`-X importtime`, the lowest of some runs."""
    modules = ("mcp", "otel_mcp", "otel_mcp_start")
    lowest = {module: min(_import_time(python, module) for _ in range(bench.choose(5, 1))) for module in modules}
    rows = [(f"`import {name}`", f"{took / 1000:.2f}", f"{took / lowest['mcp']:.4f}") for name, took in lowest.items()]
    return table(["`-X importtime`", "ms", "of `import mcp`"], rows)


def _import_time(python: str, module: str) -> int:
    """Microseconds, with everything that it imports."""
    done = subprocess.run(
        [python, "-X", "importtime", "-c", f"import {module}"], capture_output=True, text=True, check=True
    )
    found = [line for line in map(_IMPORT_LINE.match, done.stderr.splitlines()) if line and line[2] == module]
    return int(found[-1][1])
