"""Programs that tests need and a machine may lack: a failure on CI, a loud skip elsewhere."""

from __future__ import annotations

import shutil
import site
import socket
from pathlib import Path

import pytest

from harness.package import ON_CI


def find(program: str, *others: str) -> str:
    """The path of ``program``, or of the first of ``others`` that is there."""
    for name in (program, *others):
        path = shutil.which(name)
        if path is not None:
            return path
    reason = f"{program} is not installed; on Debian: apt-get install {program}"
    if ON_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def start_file() -> None:
    """For tests of programs that only have the variable set: the start file has to be installed, as the wheel does."""
    if any((Path(folder) / "otel_mcp_start.pth").exists() for folder in site.getsitepackages()):
        return
    reason = "the start file is not installed: run the tests with `make test`, or install the package"
    if ON_CI:
        pytest.fail(reason)
    pytest.skip(reason)
