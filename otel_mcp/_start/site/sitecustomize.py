"""Put on PYTHONPATH by ``otel-mcp run``: does what the start file does, then gives way to the sitecustomize it hides.

This folder is all that the watched interpreter gets from us by path. Where the package is not installed in it, that is
said once and the program runs unwatched.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _start() -> None:
    try:
        from otel_mcp._start import autostart
    except ImportError:
        # Only the command itself and what it starts directly (a shell's or uv's Python), not each tool further down.
        if os.environ.get("OTEL_MCP_RUN") in (str(os.getpid()), str(os.getppid())) and sys.stderr is not None:
            sys.stderr.write(
                f"otel_mcp: {sys.executable} (Python {sys.version_info.major}.{sys.version_info.minor}) does not have "
                f"otel-mcp-client; install it there ({sys.executable} -m pip install otel-mcp-client). "
                "The program runs unwatched.\n"
            )
        return
    autostart.arm_if_enabled()


def _give_way() -> None:
    # os.path, because pathlib is a slow import for each start of a Python
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    hidden = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


try:
    _start()
except Exception as error:  # noqa: BLE001 - a fault of ours must not keep the program from starting
    if sys.stderr is not None:
        sys.stderr.write(f"otel_mcp: cannot start ({type(error).__name__}: {error}); the program runs unwatched\n")
_give_way()
