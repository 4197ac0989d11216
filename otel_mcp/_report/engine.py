"""The columnar engine at work on the files of one report.

What leaves this module is counted, not lines: the memory needed depends on the number of connectors, tools and
five-minute slots, not on the number of calls.
"""

from __future__ import annotations

import gzip
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import duckdb

from otel_mcp._report import files, queries
from otel_mcp._report.errors import Unreadable, nothing_of_ours
from otel_mcp._report.files import Sources

MEMORY: Final = "600MB"
"""For the engine; beyond it, it spills to a temporary folder. With Python and scipy a report stays below 1 GB."""
_FOREIGN: Final = b"(too long, not UTF-8, or torn)"
"""Stands in for a line that the engine shall not see, and is counted as skipped."""
_LOSES_LINES: Final = int(duckdb.__version__.split(".")[0]) < 2
"""Before DuckDB 2.0 (Python 3.10 gets an older one) a line torn after a colon or a bracket takes the next one along."""
MAX_THREADS: Final = 8
"""Each has its own read buffers and its own part of every grouping."""


@dataclass(frozen=True)
class Lines:
    """What the files hold."""

    all: int
    ours: int
    first: datetime | None
    last: datetime | None
    """When the first and the last call counted ended."""
    simulated: bool


class CallLog:
    """Call logs, open in the engine. A context manager; `read` comes first."""

    def __init__(
        self, sources: Sources, *, since: datetime | None = None, until: datetime | None = None, progress: bool = False
    ) -> None:
        self.sources = sources
        self._window = (since, until)
        self._folder = tempfile.TemporaryDirectory(prefix="otel-mcp-report-")
        self._db = duckdb.connect()
        settings: dict[str, object] = {
            "memory_limit": MEMORY,
            "temp_directory": str(Path(self._folder.name) / "spill"),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,  # a report goes to no network
            "enable_progress_bar": progress,
            "TimeZone": "UTC",
        }
        threads: int = self._db.execute("SELECT current_setting('threads')").fetchall()[0][0]
        settings["threads"] = min(threads, MAX_THREADS)
        for name, value in settings.items():
            self._db.execute(f"SET {name} = '{value}'")

    def __enter__(self) -> CallLog:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._db.close()
        self._folder.cleanup()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query on the tables that `read` made."""
        return self._db.execute(query).fetchall()

    def arrays(self, query: str) -> dict[str, Any]:
        """The columns of a query as numpy arrays."""
        found: dict[str, Any] = self._db.execute(query).fetchnumpy()
        return found

    def read(self) -> Lines:
        """Make the tables of `queries.TABLES`; `Unreadable` if no line is ours."""
        stop = threading.Event()
        # Beside the engine, which unpacks a file on one core: the other one is free for that.
        with ThreadPoolExecutor(1) as beside:
            looks = [beside.submit(files.damage, path, stop) for path in self.sources.gzip]
            try:
                self._count_all()
            except BaseException:
                stop.set()
                raise
            checked = zip(self.sources.gzip, looks, strict=True)
            damaged = {path: reason for path, look in checked if (reason := look.result())}
        row = self.rows("SELECT lines, ours, first, last, simulated FROM totals")[0]
        lines = Lines(row[0], row[1], _utc(row[2]), _utc(row[3]), bool(row[4]))
        read = "read in part" if lines.all else "nothing could be read"
        self.sources.complaints += [f"{path}: damaged, {read}: {reason}" for path, reason in damaged.items()]
        if not lines.ours:
            whole = [path for path in self.sources.files if lines.all or path not in damaged]
            raise Unreadable("; ".join([*self.sources.complaints, *([self._nothing(lines, whole)] if whole else [])]))
        return lines

    def _count_all(self) -> None:
        try:
            self._count(self._linked())
            again: bool = _LOSES_LINES and self.rows("SELECT lines > ours FROM totals")[0][0]
        except duckdb.Error:
            # A gzip cut short, or something that cannot be split into lines.
            again = True
        if again:
            # Keep what can be kept, the slow way.
            self._count(self._mended())

    def _count(self, paths: queries.Files) -> None:
        self._pass(paths, queries.LONG)
        soonest = self.rows(queries.SOONEST)[0][0]
        if soonest < queries.LONG:
            # A call reported as waiting after less than that may have ended as a plain call that was not kept.
            self._pass(paths, soonest)

    def _pass(self, paths: queries.Files, long: float) -> None:
        self._db.execute(queries.counted(paths, *self._window, long))
        for table in queries.TABLES:
            self._db.execute(table)

    def _nothing(self, lines: Lines, whole: Sequence[Path]) -> str:
        names = ", ".join(str(path) for path in whole[:3])
        if lines.all:
            return nothing_of_ours(names, lines.all)
        return f"{names}: empty; a call log is written by a program run with OTEL_MCP_CALL_LOG set to a path"

    def _linked(self) -> queries.Files:
        # The engine would expand `*`, `?` and `[` in a name once more; the name of a link has none.
        links: dict[str, list[str]] = {"uncompressed": [], "gzip": []}
        for compression, paths in (("uncompressed", self.sources.plain), ("gzip", self.sources.gzip)):
            for number, path in enumerate(paths):
                link = Path(self._folder.name) / f"{compression}-{number}"
                link.symlink_to(path.resolve())
                links[compression].append(str(link))
        return links

    def _mended(self) -> queries.Files:
        copies = []
        for number, path in enumerate(self.sources.files):
            copy = Path(self._folder.name) / f"mended-{number}"
            with copy.open("wb") as out:
                for line in self._lines(path):
                    out.write(line.rstrip(b"\r\n") + b"\n")
            copies.append(str(copy))
        return {"uncompressed": copies}

    def _lines(self, path: Path) -> Iterator[bytes]:
        with gzip.open(path) if path in self.sources.gzip else path.open("rb") as file:
            try:
                while line := file.readline(queries.MAX_LINE):
                    whole = len(line) < queries.MAX_LINE
                    while len(line) == queries.MAX_LINE and not line.endswith(b"\n"):
                        line = file.readline(queries.MAX_LINE)
                    yield line if whole and _may_be_object(line) else _FOREIGN
            except files.GZIP_ERRORS as error:
                if path in self.sources.plain:
                    self.sources.complaints.append(f"{path}: read in part: {str(error).lower()}")


def _utc(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)


def _may_be_object(line: bytes) -> bool:
    try:
        text = line.decode().strip(" \t\r\n")
        return "\0" not in text and text[-1:] in ("", "}")
    except UnicodeDecodeError:
        return False
