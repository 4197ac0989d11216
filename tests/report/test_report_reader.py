from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from report.report_logs import NOON, at, call, cut, event, report_of, spread, write

from otel_mcp._report import files
from otel_mcp._report.build import report_for
from otel_mcp._report.errors import BadOption, Unreadable


def test_the_share_leaves_out_rejected_and_cancelled_calls(tmp_path: Path) -> None:
    outcomes = ["ok", "tool_error", "error", "disconnected", "orphaned", "rejected", "cancelled", "deadline"]
    report = report_of(tmp_path, [call(outcome=outcome) for outcome in outcomes])
    row = report.to_json()["connectors"][0]
    assert row == {"connector": "odoo", "calls": 8, "deadlines": 1, "share": 1 / 6}


def test_torn_and_foreign_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    foreign = ['{"event":"call","time":"2026-', "not json", "[1, 2]", '"text"', "17", '{"level":"info"}', "\x01\x02"]
    foreign += ['{"event":"call","time":"infinity"}', '{"event":"call","time":"1066-10-14T09:00:00Z"}']
    foreign += ['{"event":"call","time":"yesterday"}', '{"time":"2026-11-02T12:00:00.000Z"}']
    report = report_of(tmp_path, [call(), *foreign, "", call()])
    assert (report.total.calls, report.skipped_lines) == (2, len(foreign))


@pytest.mark.parametrize("torn", ['{"event":', '{"event":"call","elapsed": ', '{"attempt_outcomes":["ok",', "["])
def test_a_line_torn_where_a_value_follows_costs_itself_and_no_other(tmp_path: Path, torn: str) -> None:
    report = report_of(tmp_path, [call(), torn, call(), "", torn, torn, call()])
    assert (report.total.calls, report.skipped_lines) == (3, 3)


def test_a_last_line_without_its_end_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(call()) + "\n" + json.dumps(call())[:200])
    report = report_for([path])
    assert (report.total.calls, report.skipped_lines) == (1, 1)


def test_fields_that_are_missing_unknown_or_of_another_type_are_no_reason_to_skip(tmp_path: Path) -> None:
    bare = {"event": "call", "time": at(NOON), "outcome": "deadline"}
    later = {**call(), "schema": 9, "colour": {"deep": [1]}, "limit": "soon", "idle": None, "elapsed": 1e300}
    infinite = json.dumps(call()).replace('"elapsed": 0.5', '"elapsed": 1e999')
    unheard = event("weather", temperature=7)
    report = report_of(tmp_path, [bare, later, infinite, unheard])
    assert (report.total.calls, report.total.deadlines, report.skipped_lines) == (3, 1, 0)
    assert [row.connector for row in report.connectors] == ["odoo", "unknown"]


def test_times_of_other_offsets_are_understood(tmp_path: Path) -> None:
    report = report_of(tmp_path, [{**call(), "time": "2026-11-02T14:30:00+02:00"}])
    assert [cell.hour for cell in report.cells] == [12]


def test_plain_and_gzip_files_of_any_name_are_read_together_and_none_twice(tmp_path: Path) -> None:
    plain = write(tmp_path / "calls.jsonl", [call()])
    packed = tmp_path / "calls.jsonl.1"
    packed.write_bytes(gzip.compress(json.dumps(cut()).encode() + b"\n"))
    (tmp_path / "link.jsonl").symlink_to(plain)
    report = report_for([str(tmp_path / "*"), plain])
    assert (report.total.calls, report.total.deadlines) == (2, 1)


@pytest.mark.parametrize("name", ["a[1].jsonl", "what?.jsonl", "it's *all*.jsonl", 'say "hi".jsonl', "-x.jsonl"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    assert report_for([write(tmp_path / name, [call()])]).total.calls == 1


def test_without_files_the_variable_says_where_the_log_is(tmp_path: Path) -> None:
    for name in ("calls-11.jsonl", "calls-12.jsonl", "calls-12.jsonl.1", "other.jsonl"):
        write(tmp_path / name, [call()])
    named = files.named([], {"OTEL_MCP_CALL_LOG": f"{tmp_path}/calls-{{pid}}.jsonl"})
    assert {path.name for path in files.find(named).files} == {"calls-11.jsonl", "calls-12.jsonl", "calls-12.jsonl.1"}


def test_without_files_and_variable_the_remedy_is_named() -> None:
    with pytest.raises(BadOption, match="OTEL_MCP_CALL_LOG is not set; name a call log"):
        files.named([], {})


def test_since_and_until_choose_by_the_end_of_the_call(tmp_path: Path) -> None:
    lines = [call(NOON + timedelta(seconds=seconds), elapsed=10.0) for seconds in (0, 10, 20)]
    report = report_of(tmp_path, lines, since=NOON + timedelta(seconds=20), until=NOON + timedelta(seconds=30))
    assert report.total.calls == 1
    assert report.to_json()["since"] == "2026-11-02T12:00:20.000Z"


def test_a_huge_line_costs_itself_and_no_other(tmp_path: Path) -> None:
    huge = json.dumps({**call(), "note": "x" * 40_000_000})
    report = report_of(tmp_path, [call(), huge, call()])
    assert (report.total.calls, report.skipped_lines) == (2, 1)


def test_a_gzip_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress("".join(json.dumps(line) + "\n" for line in spread(20)).encode())
    path = tmp_path / "calls.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    report = report_for([path])
    assert 0 < report.total.calls < 960
    assert report.complaints[0].startswith(f"{path}: damaged, read in part: compressed file ended before")


@pytest.mark.parametrize("place", [-8, 2000])
def test_a_gzip_with_a_wrong_byte_is_named_as_damaged(tmp_path: Path, place: int) -> None:
    packed = bytearray(gzip.compress("".join(json.dumps(line) + "\n" for line in spread(20)).encode()))
    packed[place] ^= 0xFF
    path = tmp_path / "calls.jsonl.gz"
    path.write_bytes(packed)
    report = report_for([path, write(tmp_path / "whole.jsonl", [call()])])
    assert report.total.calls > 1
    assert [text.split(": ")[:2] for text in report.complaints] == [[str(path), "damaged, read in part"]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty; a call log is written by a program run with OTEL_MCP_CALL_LOG set"),
        (b"\n\n", "empty; a call log"),
        ('{"event":"call"}\n'.encode("utf-16"), r"none of \d+ lines is of a call log"),
        (b"\x00\x01\x02\xff\n" * 50, r"none of \d+ lines is of a call log"),
        (b"level=info msg=hello\n", "none of 1 lines is of a call log"),
        (b"\x28\xb5\x2f\xfd....", "packed with zstd; unpack it first"),
        (b"\x1f\x8b\x08\x00broken", "^[^;]*calls.jsonl: damaged, nothing could be read: [^;]*$"),
    ],
)
def test_a_file_that_is_no_call_log_is_named_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=sentence) as caught:
        report_for([path])
    assert "\n" not in str(caught.value)


def test_a_line_in_another_encoding_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    latin = json.dumps({**call(), "tool": "größe"}, ensure_ascii=False).encode("latin-1")
    path.write_bytes(json.dumps(call()).encode() + b"\n" + latin + b"\n")
    report = report_for([path])
    assert (report.total.calls, report.skipped_lines) == (1, 1)


def test_missing_files_and_folders_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = write(tmp_path / "calls.jsonl", [call()])
    report = report_for([good, tmp_path / "gone.jsonl", tmp_path])
    assert report.total.calls == 1
    assert report.complaints == (
        f"{tmp_path}/gone.jsonl: no such file",
        f"{tmp_path}: is a folder; name its files, for example '{tmp_path}/*.jsonl'",
    )


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Root may read everything, so it steps down for the time of the test."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "calls.jsonl", [call()])
    path.chmod(0)
    own = [folder for folder in (tmp_path, *tmp_path.parents) if folder.is_relative_to(tempfile.gettempdir())]
    for folder in own[:-1]:  # the way to the file is free: only the file is not
        folder.chmod(0o755)
    with an_ordinary_user(), pytest.raises(Unreadable, match=r"calls.jsonl: permission denied"):
        report_for([path])
