"""Holds what a test has seen against the row that it shows, and keeps it for the page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.rows import ROWS, Row
from faults.running import Pair

from harness.collector import Collector
from harness.sessions import VERSION

Seen = Callable[..., None]
BUSY = 5.0
"""Seconds that a busy machine may add to the end of a process."""


CAME_TO_ITS_END = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Of a test that is skipped for a missing part, or fails, nobody asks what it has compared."""
    yield
    item.stash[CAME_TO_ITS_END] = True


@pytest.fixture
def row(request: pytest.FixtureRequest, table_row: Callable[[str, str], None]) -> Row:
    """The row that the test's marker names."""
    marker = request.node.get_closest_marker("fault")
    found = ROWS[marker.args[0]]
    table_row("faults", found.fault)
    return found


@pytest.fixture
def seen(row: Row, request: pytest.FixtureRequest) -> Iterator[Seen]:
    """``seen(pair, lines=0)``: what came of a fault; a test that comes to its end without saying it fails."""
    said: list[dict[str, object]] = []

    def say(pair: Pair, *, scene: str | None = None, lines: int = 0, spans: int | None = None) -> None:
        assert pair.watched.told(scene) == pair.plain.told(scene)
        assert pair.watched.told(scene) != []
        assert 0 <= lines <= row.lines
        assert pair.watched.torn() <= row.torn
        later = pair.watched.exit_seconds - pair.plain.exit_seconds
        assert later < row.later + BUSY
        left = [*pair.watched.left_behind(), *(_grown(pair, scene) if scene is not None else [])]
        assert left == ([] if row.left == "nothing" else [row.left])
        assert pair.plain.left_behind() == []
        where = {"python": platform.python_version(), "mcp": VERSION}
        said.append({"fault": row.fault, "lines": lines, "spans": spans, "later": later, **where})

    yield say
    if request.node.stash.get(CAME_TO_ITS_END, False):
        assert said, "nothing was compared"
    if file := os.environ.get("FAULTS_SEEN"):
        with Path(file).open("a") as out:
            out.writelines(json.dumps(entry) + "\n" for entry in said)


def _grown(pair: Pair, scene: str) -> list[str]:
    """Threads and descriptors that a scene has left in the watched program and not in the plain one."""
    (plain_before, plain_after), (before, after) = pair.plain.own(scene), pair.watched.own(scene)
    return [
        f"{after[what] - before[what]} {what}"
        for what in ("threads", "descriptors")
        if after[what] - before[what] > max(plain_after[what] - plain_before[what], 0)
    ]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    receiver = Collector(tmp_path, "ok")
    yield receiver
    receiver.stop()
