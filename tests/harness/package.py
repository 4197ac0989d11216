"""Where the package under test comes from, and how a child process finds the same one."""

from __future__ import annotations

import os
from pathlib import Path

import otel_mcp

FOLDER = Path(next(iter(otel_mcp.__path__))).resolve().parent
INSTALLED = FOLDER.name in ("site-packages", "dist-packages")
ON_CI = os.environ.get("CI") == "true"


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without OpenTelemetry's and our variables, with ``extra`` added.

    A child imports the package under test: where that is a source tree, the tree is put on its path.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PYTHONPATH"))}
    return {**clean, **path_entry(), **extra}


def path_entry() -> dict[str, str]:
    """``PYTHONPATH`` for a child, empty where the package is installed."""
    return {} if INSTALLED else {"PYTHONPATH": str(FOLDER)}
