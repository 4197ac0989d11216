"""``otel-mcp run -- CMD…``: run a program with telemetry, whether or not its interpreter reads the start file.

On POSIX the command takes the place of this process, so its exit code, its signals, its terminal and its process id
are its own and nothing has to be passed on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import otel_mcp

_SITE: Final = Path(otel_mcp.__file__).parent / "_start" / "site"
_NOT_RUN: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``CMD ARGS…``, with or without the ``--`` before it."""
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD ARGS…", help="the program to watch")


def run(args: argparse.Namespace) -> int:
    """Become the command; returns only where that fails (2), and on Windows (its exit code)."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        print("otel-mcp run: say which program to run, for example: otel-mcp run -- python agent.py", file=sys.stderr)
        return _NOT_RUN
    found = shutil.which(command[0])
    if found is None:
        print(f"otel-mcp run: {command[0]!r} {_why_not(command[0])}", file=sys.stderr)
        return _NOT_RUN
    environment = watched_environment(dict(os.environ))
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        try:
            os.execvpe(found, command, environment)  # noqa: S606 - what the user asked for, and no shell
        except OSError as error:
            print(f"otel-mcp run: {command[0]!r} cannot be run ({error.strerror})", file=sys.stderr)
            return _NOT_RUN
    return subprocess.run([found, *command[1:]], env=environment, check=False).returncode  # noqa: S603 - same


def _why_not(name: str) -> str:
    """Why `shutil.which` has found nothing."""
    if not os.path.dirname(name):  # noqa: PTH120 - `./name` has a folder, which a Path would forget
        return "is not found in PATH"
    if not Path(name).exists():
        return "does not exist"
    return "is a folder" if Path(name).is_dir() else "is not executable"


def watched_environment(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the variable set and our sitecustomize before the others."""
    paths = [str(_SITE), *filter(None, [environment.get("PYTHONPATH")])]
    return {
        **environment,
        "OTEL_MCP_ENABLED": "true",
        "OTEL_MCP_RUN": str(os.getpid()),  # who says so if the package is missing there
        "PYTHONPATH": os.pathsep.join(paths),
    }
