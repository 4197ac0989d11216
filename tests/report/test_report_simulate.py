from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from otel_mcp._ground.catalogue import LOG_COMMON, LOG_EVENTS, MAX_LOG_LINE
from otel_mcp._report.simulate import write_history

NOW = datetime(2026, 11, 9, tzinfo=timezone.utc)


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    assert write_history(first, 2, seed=1, now=NOW) == write_history(second, 2, seed=1, now=NOW)
    write_history(third, 2, seed=2, now=NOW)
    assert first.read_bytes() == second.read_bytes() != third.read_bytes()


def test_every_line_is_as_the_catalogue_has_it_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    count = write_history(path, 10, seed=1, now=NOW)
    lines = path.read_text().splitlines()
    assert len(lines) == count
    events = set()
    for text in lines:
        line = json.loads(text)
        assert len(text) < MAX_LOG_LINE
        assert line["simulated"] is True
        assert set(line) <= {*LOG_COMMON, *LOG_EVENTS[line["event"]], "simulated"}
        assert set(LOG_COMMON) <= set(line)
        events.add(line["event"])
    assert events == {"call", "late_response", "still_waiting"}


def test_lines_stand_in_the_order_of_their_moments_within_the_days_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write_history(path, 3, seed=4, now=NOW)
    times = [json.loads(line)["time"] for line in path.read_text().splitlines()]
    assert times == sorted(times)
    assert times[0] >= "2026-11-06"
    assert times[-1] < "2026-11-09T00:01"


def test_a_history_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "inside").touch()
    with pytest.raises(OSError, match="folder"):
        write_history(target, 1, seed=1, now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write_history(path, 1, seed=1, now=NOW)
    assert path.stat().st_mode & 0o777 == 0o600
