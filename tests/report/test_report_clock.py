from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from report.report_logs import NOON, call, cut, report_of

from otel_mcp._report import clock
from otel_mcp._report.errors import BadOption
from otel_mcp._report.model import Report

UTC = timezone.utc


def hours(report: Report) -> dict[int, tuple[int, int]]:
    return {cell.hour: (cell.counts.calls, cell.counts.deadlines) for cell in report.cells}


def test_a_call_belongs_to_the_hour_in_which_it_ended(tmp_path: Path) -> None:
    begun = datetime(2026, 11, 2, 6, 59, 50, tzinfo=UTC)
    report = report_of(tmp_path, [cut(begun, elapsed=30.0), call(begun, elapsed=9.9), call(begun, elapsed=10.0)])
    assert hours(report) == {6: (1, 0), 7: (2, 1)}


def test_an_hour_in_berlin_is_the_same_hour_before_and_after_the_clocks_change(tmp_path: Path) -> None:
    before = datetime(2026, 10, 24, 4, 30, tzinfo=UTC)  # 06:30 in summer
    after = datetime(2026, 10, 26, 5, 30, tzinfo=UTC)  # 06:30 in winter
    report = report_of(tmp_path, [call(before), call(after)], tz="Europe/Berlin")
    assert hours(report) == {6: (2, 0)}


def test_the_hour_that_comes_twice_is_one_hour(tmp_path: Path) -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    report = report_of(tmp_path, [call(first), call(first + timedelta(hours=1))], tz="Europe/Berlin")
    assert hours(report) == {2: (2, 0)}


@pytest.mark.parametrize(("tz", "hour"), [("Asia/Kolkata", 17), ("Asia/Kathmandu", 17), ("America/St_Johns", 8)])
def test_zones_off_the_full_hour_are_exact(tmp_path: Path, tz: str, hour: int) -> None:
    assert set(hours(report_of(tmp_path, [call(NOON)], tz=tz))) == {hour}


def test_weekdays_begin_with_monday() -> None:
    monday = int(NOON.timestamp()) // clock.SLOT
    assert clock.local(np.array([monday, monday + 86400 // clock.SLOT * 6]), UTC).weekday.tolist() == [0, 6]


NOW = datetime(2026, 11, 10, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("30m", NOW - timedelta(minutes=30)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-03", datetime(2026, 11, 2, 23, tzinfo=UTC)),
        ("2026-07-03T06:00", datetime(2026, 7, 3, 4, tzinfo=UTC)),
        ("2026-11-03T06:00Z", datetime(2026, 11, 3, 6, tzinfo=UTC)),
    ],
)
def test_moments_are_local_unless_they_say_otherwise(text: str, expected: datetime) -> None:
    assert clock.moment("--since", text, clock.zone("Europe/Berlin"), NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "", "-3d", "99999999999d"])
def test_what_is_no_moment_is_named_with_the_remedy(text: str) -> None:
    with pytest.raises(BadOption, match=r"--since .* is no moment; use 2026-11-03"):
        clock.moment("--since", text, UTC, NOW)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "x" * 300])
def test_what_is_no_time_zone_is_named_with_the_remedy(name: str) -> None:
    with pytest.raises(BadOption, match="is no time zone known here; use an IANA name"):
        clock.zone(name)
