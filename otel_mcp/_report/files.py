"""Which files are read: named ones, globs, rotated siblings, plain or gzip."""

from __future__ import annotations

import glob
import gzip
import os
import re
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from otel_mcp._report.errors import BadOption, Unreadable

_GZIP: Final = b"\x1f\x8b"
GZIP_ERRORS: Final = (EOFError, OSError, zlib.error)
"""What reading a damaged gzip file raises."""
_PIECE: Final = 1 << 20
_OTHERS: Final = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}


@dataclass
class Sources:
    """Files found and looked into; what could not be read has its sentence."""

    plain: list[Path] = field(default_factory=list)
    gzip: list[Path] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[Path]:
        return [*self.plain, *self.gzip]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.files)


def named(arguments: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The paths to read: the arguments, else what `OTEL_MCP_CALL_LOG` has written."""
    if arguments:
        return list(arguments)
    template = environ.get("OTEL_MCP_CALL_LOG", "").strip()
    if not template:
        raise BadOption("no FILES given and OTEL_MCP_CALL_LOG is not set; name a call log: otel-mcp report calls.jsonl")
    pattern = written_by(template)
    return [pattern, pattern + ".*"] if matches(pattern) or matches(pattern + ".*") else [template]


def written_by(template: str) -> str:
    """The pattern of what programs with this `OTEL_MCP_CALL_LOG` write to; what was rotated has another name."""
    return "*".join(glob.escape(part) for part in re.split(r"\{pid\}|\{date\}", template))


def matches(pattern: str) -> list[str]:
    """The paths that a pattern matches, in the order of their names."""
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern


def find(paths: Sequence[str | os.PathLike[str]]) -> Sources:
    """Look into every file; `Unreadable` if none is left."""
    sources = Sources()
    seen: set[tuple[int, int]] = set()
    for given in [os.fspath(path) for path in paths]:
        found = [given] if Path(given).exists() else matches(given)
        if not found and not _is_sibling_pattern(given, paths):
            sources.complaints.append(f"{given}: no such file")
        for match in found:
            _look(Path(match), sources, seen)
    if not sources.files:
        raise Unreadable("; ".join(sources.complaints) or "no file to read")
    return sources


def _is_sibling_pattern(given: str, paths: Sequence[str | os.PathLike[str]]) -> bool:
    # `named` asks for rotated siblings on the off chance; it is no complaint that there are none.
    return given.endswith(".*") and given[:-2] in [os.fspath(path) for path in paths]


def _look(path: Path, sources: Sources, seen: set[tuple[int, int]]) -> None:
    try:
        if path.is_dir():
            sources.complaints.append(f"{path}: is a folder; name its files, for example '{path}/*.jsonl'")
            return
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            head = file.read(8)
    except OSError as error:
        sources.complaints.append(f"{path}: {(error.strerror or type(error).__name__).lower()}")
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    packed = next((name for magic, name in _OTHERS.items() if head.startswith(magic)), None)
    if packed:
        sources.complaints.append(f"{path}: packed with {packed}; unpack it first (gzip can be read as it is)")
    else:
        (sources.gzip if head.startswith(_GZIP) else sources.plain).append(path)


def damage(path: Path, stop: threading.Event) -> str | None:
    """What is wrong with a gzip file, in zlib's words; None if nothing is, or if `stop` was set before that was known.

    The engine looks at no checksum, and before DuckDB 2.0 not even whether the file was cut short.
    """
    try:
        with gzip.open(path) as file:
            while not stop.is_set() and file.read(_PIECE):
                pass
    except GZIP_ERRORS as error:
        return str(error).lower()
    return None
