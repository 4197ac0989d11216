"""The call log: one line of JSON an event, written behind the caller's back.

`CallLog.put` costs the caller one append to a queue. A daemon thread encodes and writes; while nothing happens it
sleeps without waking. Several processes may share one file: each line is one write to a descriptor opened for
appending, so lines do not mix.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from otel_mcp._ground.guard import caught, guarded, logger
from otel_mcp._record.lines import Fields, encode

_GATHER: Final = 0.25
"""Seconds between the first record and the write: one wake-up for a burst of calls, well inside the promised second."""

_MAX_QUEUED: Final = 20_000
"""Records held while the disk does not keep up: about 20 MB at the usual 600 bytes a record with its fields."""

_MODE: Final = 0o600
_Record = tuple[str, int, str | None, str | None, Fields]


class CallLog:
    """Appends events to `path`; ``{pid}`` and ``{date}`` (UTC) in it are filled in.

    `common` holds the fields that every line repeats (service, instance, pid, version). Nothing here raises into the
    caller: what cannot be written is counted in `dropped`, said once by `warn`, and its number is said when writing
    works again and at the end.
    """

    def __init__(self, path: str, common: Mapping[str, object], warn: Callable[[str], None] = logger.warning) -> None:
        self._template = path
        self._common = common
        self._warn = warn
        self._failure_said = False
        self._file = _Appender(path)
        self._begin()

    def _begin(self) -> None:
        self._queue: SimpleQueue[_Record | None] = SimpleQueue()  # its put is re-entrant: a finalizer may log
        self._closed = False
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._thread_lock = threading.Lock()
        self._drops = itertools.count()
        self._dropped_said = 0
        self.dropped = 0

    @property
    def path(self) -> str:
        """The file as it is named now."""
        return fill_in(self._template)

    def put(self, event: str, time_ns: int, connector: str | None, transport: str | None, fields: Fields) -> None:
        """Queue one event; never blocks and never raises.

        `time_ns` is nanoseconds since 1970. `fields` may be a function, which runs on the writer's thread; a mapping
        belongs to the log from now on.
        """
        if self._closed or self._queue.qsize() >= _MAX_QUEUED:
            self._drop()
            return
        self._queue.put((event, time_ns, connector, transport, fields))
        if self._thread is None:
            self._start_thread()

    def close(self, timeout: float) -> None:
        """Write what is queued and end the thread, within `timeout` seconds; what comes later is dropped."""
        if self._closed:
            return
        deadline = time.monotonic() + timeout
        self._closed = True
        self._closing.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
            if self._thread.is_alive():
                return  # the disk hangs; its thread is a daemon and dies with the process
        self._write_batch(self._drain())
        self._say_dropped()
        self._file.close()

    def reset_after_fork(self) -> None:
        """In a forked child: forget the parent's queue and thread; the file is opened anew at the first event."""
        self._file.close()
        self._begin()

    # --- the writer's side ----------------------------------------------------------------------------------------
    def _start_thread(self) -> None:
        if not self._thread_lock.acquire(blocking=False):
            return  # another caller is starting it
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="otel-mcp-call-log", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError:
            pass  # the interpreter is going down: `close` writes what is queued
        finally:
            self._thread_lock.release()

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is not None:
                self._closing.wait(_GATHER)
                with guarded("call_log", "some lines of the call log"):
                    self._write_batch([first, *self._drain()])
            if self._closing.is_set():
                return

    def _drain(self) -> list[_Record]:
        records = []
        with contextlib.suppress(Empty):
            while True:
                record = self._queue.get_nowait()
                if record is not None:
                    records.append(record)
        return records

    def _write_batch(self, records: list[_Record]) -> None:
        if not records:
            return
        try:
            self._file.prepare()
        except OSError as error:
            self._failed(error, len(records))
            return
        for event, time_ns, connector, transport, fields in records:
            try:
                self._file.append(encode(event, time_ns, connector, transport, self._common, fields))
            except OSError as error:
                self._failed(error, 1)
            except Exception as error:  # noqa: BLE001 - one event that cannot be said must not cost the ones behind it
                caught("call_log", f"one {event} event", error)
            else:
                self._say_dropped()

    def _drop(self, records: int = 1) -> None:
        for _ in range(records):
            self.dropped = next(self._drops) + 1  # a shared counter: `+= 1` from two threads can lose one

    def _failed(self, error: OSError, records: int) -> None:
        self._drop(records)
        if self._failure_said:
            return
        self._failure_said = True
        reason = error.strerror or str(error)
        self._warn(
            f"OTEL_MCP_CALL_LOG={self._template!r} cannot be written ({reason}); "
            "the program goes on, its calls are not logged until it can be"
        )

    def _say_dropped(self) -> None:
        if self.dropped > self._dropped_said:
            number, self._dropped_said = self.dropped - self._dropped_said, self.dropped
            self._warn(f"call log {self.path!r}: {number} {'event was' if number == 1 else 'events were'} not written")


def fill_in(template: str) -> str:
    """The path with ``{pid}`` and ``{date}`` (today in UTC, ``2026-11-30``) filled in; other braces stay."""
    if "{" not in template:
        return template
    return template.replace("{pid}", str(os.getpid())).replace("{date}", time.strftime("%Y-%m-%d", time.gmtime()))


class _Appender:
    """A file opened for appending that follows its name: after a rename or a new date it is opened anew."""

    def __init__(self, template: str) -> None:
        self._template = template
        self._path = ""
        self._descriptor = -1
        self._identity = (0, 0)
        self._torn = False

    def prepare(self) -> None:
        """See that the descriptor is the file that has the name now; raises OSError."""
        path = fill_in(self._template)
        if self._descriptor >= 0 and path == self._path:
            with contextlib.suppress(OSError):  # renamed and not created again: open it ourselves
                status = Path(path).stat()
                if (status.st_dev, status.st_ino) == self._identity:
                    return
        self.close()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), _MODE)
        status = os.fstat(self._descriptor)
        self._path, self._identity, self._torn = path, (status.st_dev, status.st_ino), False

    def append(self, line: bytes) -> None:
        """One write; raises OSError. A line cut short by a full disk is ended before the next one."""
        if self._torn:
            line = b"\n" + line
        written = os.write(self._descriptor, line)
        if written == len(line):
            self._torn = False
            return
        self._torn = True
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
