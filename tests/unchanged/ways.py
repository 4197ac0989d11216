"""Every way to start a program watched, as a command line and variables; none of them touches the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from harness.package import FOLDER, INSTALLED
from otel_mcp import __version__

Command = list[str]
ON = {"OTEL_MCP_ENABLED": "true"}
_THEN_RUN = "; import runpy, sys; del sys.argv[0]; sys.path.insert(0, sys.argv[0].rpartition('/')[0]); "
_THEN_RUN += "runpy.run_path(sys.argv[0], run_name='__main__')"
_CODE = f"import otel_mcp; otel_mcp.instrument(){_THEN_RUN}"
_START_FILE = f"import otel_mcp_start; otel_mcp_start.start(){_THEN_RUN}"


def plain(program: Command) -> Command:
    return [sys.executable, *program]


def start_file(program: Command) -> Command:
    """The start file runs by itself where the package is installed; from a source tree it has to be called."""
    return plain(program) if INSTALLED else [sys.executable, "-c", _START_FILE, *program]


def run(program: Command) -> Command:
    return [sys.executable, "-m", "otel_mcp", "run", "--", sys.executable, *program]


def opentelemetry_instrument(program: Command) -> Command:
    return [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, *program]


def code(program: Command) -> Command:
    return [sys.executable, "-c", _CODE, *program]


def run_and_opentelemetry_instrument(program: Command) -> Command:
    return [sys.executable, "-m", "otel_mcp", "run", "--", *opentelemetry_instrument(program)]


WAYS: dict[str, tuple[Callable[[Command], Command], dict[str, str]]] = {
    "the variable": (start_file, ON),
    "otel-mcp run": (run, {}),
    "opentelemetry-instrument": (opentelemetry_instrument, {}),
    "code": (code, {}),
    "the variable and code": (code, ON),
    "otel-mcp run and opentelemetry-instrument": (run_and_opentelemetry_instrument, {}),
}


def entry_point(folder: Path) -> dict[str, str]:
    """``PYTHONPATH`` for `opentelemetry-instrument`, which finds us by our distribution's entry point.

    An installed package has one. For a source tree the wheel's metadata are written into `folder`.
    """
    if INSTALLED:
        return {}
    metadata = folder / f"otel_mcp_client-{__version__}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: otel-mcp-client\nVersion: {__version__}\n")
    (metadata / "entry_points.txt").write_text(
        "[opentelemetry_instrumentor]\notel_mcp = otel_mcp:OtelMcpInstrumentor\n"
    )
    return {"PYTHONPATH": f"{FOLDER}:{folder}"}
