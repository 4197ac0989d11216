"""`OTEL_MCP_TARGETS`: a folder in which each process names its endpoint for Prometheus' ``file_sd_configs``.

One file a process, written whole and renamed into place, because Prometheus reads the folder at any moment. The file
goes when the endpoint does; one left by a process that was killed is removed by the next that starts on this machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from pathlib import Path
from typing import Final

from otel_mcp._start.notices import say

_PREFIX: Final = "otel-mcp-"
_PID: Final = re.compile("[0-9]{1,9}")
_LOOPBACK: Final = ("127.", "[::1]", "localhost:")


class Target:
    """This process' entry, `<folder>/otel-mcp-<host>-<pid>.json`."""

    def __init__(self, folder: str, address: str, service: str) -> None:
        self._folder = Path(folder)
        self._pid = os.getpid()
        self._path = self._folder / f"{_own_prefix()}{self._pid}.json"
        try:
            self._write(address, service)
            self._sweep()
        except OSError as error:
            say(
                f"OTEL_MCP_TARGETS={folder!r} cannot be written ({error.strerror or error}); "
                f"Prometheus has to be told of {address} another way"
            )

    def remove(self) -> None:
        """Take the entry away; a forked child leaves its parent's alone."""
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write(self, address: str, service: str) -> None:
        # The pid is a label that Prometheus shows on its targets page and drops before storing: a stored one would
        # start new series with every process.
        entry = [{"targets": [address], "labels": {"service": service, "__meta_otel_mcp_pid": str(self._pid)}}]
        unfinished = self._path.with_suffix(".tmp")
        unfinished.unlink(missing_ok=True)  # of an earlier process of this number
        try:
            with unfinished.open("x", encoding="utf-8") as file:  # never through a link that somebody has put there
                file.write(json.dumps(entry) + "\n")
            unfinished.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        prefix = _own_prefix()
        for path in self._folder.glob(f"{prefix}*.json"):
            pid = path.stem[len(prefix) :]
            if _PID.fullmatch(pid) and not is_alive(int(pid)):
                with contextlib.suppress(OSError):
                    path.unlink()


def addresses(folder: str) -> list[str]:
    """`host:port` of each endpoint that has its entry in the folder and can be reached from here.

    Left out are processes of this machine that are gone, and loopback addresses of other machines.
    """
    prefix, found = _own_prefix(), set()
    for path in Path(folder).glob(f"{_PREFIX}*.json"):
        pid = path.stem[len(prefix) :] if path.stem.startswith(prefix) else ""
        own = _PID.fullmatch(pid) is not None
        if not own or is_alive(int(pid)):
            found |= {each for each in _written(path) if own or not each.startswith(_LOOPBACK)}
    return sorted(found)


def _written(path: Path) -> list[str]:
    """The addresses in an entry; none where it has gone, or is somebody else's."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [each for entry in entries for each in entry["targets"] if isinstance(each, str)]
    except (OSError, ValueError, TypeError, LookupError):
        return []


def _own_prefix() -> str:
    # The machine's name, because a folder shared between containers holds the same pids for different processes.
    return f"{_PREFIX}{socket.gethostname()}-"


def is_alive(pid: int) -> bool:
    """Whether this machine has a process of that number; True where it cannot be asked."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
