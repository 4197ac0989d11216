"""``otel-mcp demo``: misbehaving servers, an agent that knows nothing of us and one that does, and what is seen."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from otel_mcp._demo import history, report
from otel_mcp._demo.cast import CAREFUL, CAST, Stage, deaf_to_ctrl_c, import_path, staged
from otel_mcp._demo.screen import live
from otel_mcp._demo.watch import Endpoint
from otel_mcp._ground.commands import named_folder

STILL_WAITING = 5  # seconds; the default of 30 would show one record in a demo of 40
_EXIT_LIMIT = 15.0  # seconds that the agent may take to close its connections: some of its servers do not answer
_REDRAW = 0.5
_PROGRAMS = Path(__file__).parent
_AGENT, _CAREFUL_AGENT = _PROGRAMS / "agent.py", _PROGRAMS / "careful_agent.py"  # they need mcp, this module does not
_INTERRUPTED = 130  # as a shell says it
_PORT = 9464  # the default; the second agent starts one above, so that the first one has it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``otel-mcp demo``."""
    parser.add_argument("--seconds", type=float, default=40.0, metavar="N", help="how long the agent works (40)")
    parser.add_argument(
        "--history", type=float, metavar="DAYS", help="no servers: a simulated call log of so many days"
    )
    parser.add_argument("--folder", type=_made, help="where the call log and everything else goes (a new one)")


def _made(given: str) -> Path:
    path = named_folder(given)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise argparse.ArgumentTypeError(f"{given!r} cannot be made a folder: {reason}") from None
    return path


def run(given: argparse.Namespace) -> int:
    """Runs the demo. Returns 0, 130 after Ctrl-C, or 2 if something that it needs is missing or means nothing."""
    for name in ("seconds", "history"):
        value = getattr(given, name)
        if value is not None and not value > 0:
            print(f"otel-mcp demo: --{name} must be more than 0, got {value:g}", file=sys.stderr)
            return 2
    if given.history is not None:
        return history.run((given.folder or _new_folder()) / "history.jsonl", given.history)
    missing = [name for name in ("mcp", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"The demo needs {' and '.join(missing)}: pip install 'otel-mcp-client[demo]'", file=sys.stderr)
        return 2
    folder = given.folder or _new_folder()
    log = folder / "calls.jsonl"
    with (
        staged(folder, _environment()) as stage,
        _agent(stage, _AGENT, log, given.seconds, _PORT) as process,
        _agent(stage, _CAREFUL_AGENT, log, given.seconds, _PORT + 1),
    ):
        interrupted = _watch(stage, process, log, given.seconds)
    if interrupted is not None:
        print(f"otel-mcp demo: interrupted after {interrupted:.0f} s", file=sys.stderr)
    print()
    events = report.read(log)
    print(report.text(events))
    print()
    if report.totals(events):
        history.statistics(log)
    print(f"The call log, one line an event: {log}")
    return 0 if interrupted is None else _INTERRUPTED


def _new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="otel-mcp-demo-"))


def _environment() -> dict[str, str]:
    """Ours, without settings that would make the demo export to somebody's collector or bind somebody's port."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**clean, **import_path()}


@contextmanager
def _agent(stage: Stage, program: Path, log: Path, seconds: float, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """An agent, told by its environment alone to be watched."""
    name = program.stem
    targets = stage.folder / f"targets-{name}"
    targets.mkdir(exist_ok=True)
    watched = {
        "OTEL_MCP_ENABLED": "true",
        "OTEL_MCP_CALL_LOG": str(log),
        "OTEL_MCP_CONNECTORS": stage.connectors(),
        "OTEL_MCP_STILL_WAITING": str(STILL_WAITING),
        "OTEL_MCP_TARGETS": str(targets),
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(port),
        "OTEL_SERVICE_NAME": f"demo-{name.replace('_', '-')}",
    }
    command = [sys.executable, str(program), str(stage.folder / f"{name}.json"), "--seconds", str(seconds)]
    with (stage.folder / f"{name}.log").open("wb") as output:
        environment = {**_environment(), **watched}
        with deaf_to_ctrl_c():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
            )
        try:
            yield process
        finally:
            _end(process)


def _watch(stage: Stage, process: subprocess.Popen[bytes], log: Path, seconds: float) -> float | None:
    """Shows what the endpoint says until the agent has ended, its time is long over, or the user has seen enough.

    Returns the seconds after which the user had, else None.
    """
    endpoint = Endpoint(stage.folder / f"targets-{_AGENT.stem}")
    careful = Endpoint(stage.folder / f"targets-{_CAREFUL_AGENT.stem}")
    start = time.monotonic()
    end = start + seconds
    announced = False
    try:
        with live({role.name: role.plot for role in (*CAST, *CAREFUL)}) as draw:
            while process.poll() is None and time.monotonic() < end + _EXIT_LIMIT:
                rows = endpoint.rows()
                if endpoint.url is not None and not announced:
                    announced = True
                    print(f"Two agents work with {len(CAST)} and {len(CAREFUL)} MCP servers for {seconds:g} s.")
                    print(f"endpoint  {endpoint.url}")
                    print(f"call log  {log}", flush=True)
                if rows is not None:
                    draw({**rows, **(careful.rows() or {})}, max(0.0, end - time.monotonic()))
                time.sleep(_REDRAW)
    except KeyboardInterrupt:
        return time.monotonic() - start
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_EXIT_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
