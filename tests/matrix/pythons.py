"""The Python versions on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from matrix.table import NEWEST, OLDEST

_PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2])"


def at_hand() -> dict[tuple[int, int], str]:
    """Version to interpreter, of the supported ones that can make virtual environments, oldest first."""
    found: dict[tuple[int, int], str] = {}
    for candidate in _candidates():
        version = _version(candidate)
        if version is not None and OLDEST <= version <= NEWEST:
            found.setdefault(version, candidate)
    return dict(sorted(found.items()))


def _candidates() -> Iterator[str]:
    names = [f"python{major}.{minor}" for major, minor in _supported()]
    yield sys.executable
    yield from filter(None, (shutil.which(name) for name in [*names, "python3"]))
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for major, minor in _supported():
        yield from map(str, sorted(root.glob(f"versions/{major}.{minor}.*/bin/python")))


def _supported() -> list[tuple[int, int]]:
    return [(3, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]


def _version(interpreter: str) -> tuple[int, int] | None:
    # A pyenv shim answers with an error where its version is not selected: only a run tells.
    answer = subprocess.run([interpreter, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)
