"""Programs that tests need and a machine may lack: a failure on CI, a loud skip elsewhere."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import site
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from harness.package import ON_CI


def find(program: str, *others: str) -> str:
    """The path of ``program``, or of the first of ``others`` that is there."""
    path = next(filter(None, map(shutil.which, (program, *others))), None)
    return path or lacking(f"{program} is not installed; on Debian: apt-get install {program}")


def lacking(reason: str) -> NoReturn:
    """A part is not there: a failure on CI, a loud skip elsewhere."""
    if ON_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def libfaketime() -> str:
    """The library that gives a program another clock."""
    find("faketime")
    return str(next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")))


def uvloop() -> None:
    """For tests of programs that run on uvloop."""
    if importlib.util.find_spec("uvloop") is None:
        lacking("uvloop is not installed: pip install uvloop")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own, as small as ``size`` says; only root may mount one."""
    folder.mkdir()
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    mount = [*as_root, "mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        lacking(f"a small disk needs root to mount it: {error}")
    try:
        yield folder
    finally:
        subprocess.run([*as_root, "umount", "--lazy", str(folder)], check=True, capture_output=True)


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
    lacking("the start file is not installed: run the tests with `make test`, or install the package")
