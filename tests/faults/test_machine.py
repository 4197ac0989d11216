"""The machine beneath the program: a disk without room, a clock that jumps."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from faults.conftest import Seen
from faults.running import Agent, pair

from harness.real_parts import libfaketime, small_disk
from harness.waiting import wait_for

CANNOT = "cannot be written (No space left on device)"
NOT_WRITTEN = re.compile(r"call log '.*': (\d+) events? (?:was|were) not written")


@pytest.mark.fault("disk full")
def test_a_full_disk_costs_the_lines_told_meanwhile_and_one_line_says_how_many(tmp_path: Path, seen: Seen) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        log, targets = disk / "calls.jsonl", disk / "targets"
        targets.mkdir()
        on_disk = {"OTEL_MCP_CALL_LOG": str(log), "OTEL_MCP_TARGETS": str(targets)}
        with pair(tmp_path / "runs", "disk_full", env=on_disk, disk=str(disk)) as runs:
            runs.both(lambda agent: agent.await_mark("before"))
            runs.watched.await_lines(5)
            runs.both(Agent.go)
            runs.both(lambda agent: agent.await_mark("full"))
            wait_for(lambda: CANNOT in runs.watched.err)
            runs.plain.go()
            runs.plain.finish()  # its file is gone now
            runs.watched.go()
            runs.finish()
            said = runs.watched.err.splitlines()
            assert len([line for line in said if CANNOT in line]) == 1
            counted = sum(int(found[1]) for found in map(NOT_WRITTEN.search, said) if found)
            lines = runs.watched.lines()
            assert [line["id"] for line in lines[-5:]] == list(range(26, 31)), "what comes after it is written again"
            assert 30 - len(lines) == counted > 0
            assert list(targets.iterdir()) == []
            seen(runs, lines=counted)


@pytest.mark.fault("clock")
def test_a_clock_that_jumps_moves_the_times_of_lines_and_no_duration(tmp_path: Path, seen: Seen) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    other_clock = {
        "LD_PRELOAD": libfaketime(),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with pair(tmp_path / "runs", "clock_jumps", both_env=other_clock, clock=str(clock)) as runs:
        runs.finish()
        first, forward, back = runs.watched.fields("clock")
        assert forward - first > 80_000
        assert first - back > 80_000
        lines = runs.watched.lines()
        assert Counter(line["outcome"] for line in lines) == {"ok": 12, "deadline": 3}
        assert all(0 <= line["elapsed"] < 60 for line in lines)
        assert len({datetime.fromisoformat(line["time"].removesuffix("Z")).date() for line in lines}) >= 3
        assert runs.watched.err == runs.plain.err
        seen(runs)
