"""Files that we write: their modes, and links that somebody has put in their place."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
from pathlib import Path

import pytest

from harness.real_parts import small_disk
from otel_mcp._record.calllog import CallLog
from otel_mcp._start import notices
from otel_mcp._start.targets import Target


def log_one(path: Path) -> None:
    log = CallLog(str(path), {"service": "agent"}, print)
    log.put("call", 0, "odoo", "stdio", {"id": 1})
    log.close(5.0)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_call_log_is_the_owners_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        log_one(tmp_path / "calls.jsonl")
    finally:
        os.umask(before)
    assert mode(tmp_path / "calls.jsonl") == 0o600


def test_a_call_log_that_exists_keeps_its_mode_and_a_link_is_followed(tmp_path: Path) -> None:
    there = tmp_path / "there.jsonl"
    there.touch(0o640)
    (tmp_path / "link.jsonl").symlink_to(there)
    log_one(tmp_path / "link.jsonl")
    assert mode(there) == 0o640
    assert len(there.read_text().splitlines()) == 1


def own_name() -> str:
    return f"otel-mcp-{socket.gethostname()}-{os.getpid()}"


@pytest.mark.parametrize("name", [f"{own_name()}.tmp", f"{own_name()}.json"], ids=["while written", "written"])
def test_the_targets_entry_is_written_through_no_link(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "targets"
    folder.mkdir()
    (folder / name).symlink_to(precious)
    target = Target(str(folder), "127.0.0.1:1", "agent")
    assert precious.read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == [f"{own_name()}.json"]
    assert json.loads((folder / f"{own_name()}.json").read_text())[0]["targets"] == ["127.0.0.1:1"]
    target.remove()


def test_only_entries_of_dead_processes_of_this_machine_are_removed(tmp_path: Path) -> None:
    host = socket.gethostname()
    kept = [f"otel-mcp-{host}-{os.getppid()}.json", f"otel-mcp-elsewhere-{4_194_999}.json", "other.json", "notes.txt"]
    for name in [*kept, f"otel-mcp-{host}-4194999.json"]:
        (tmp_path / name).touch()
    Target(str(tmp_path), "127.0.0.1:1", "agent").remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_on_a_full_disk_no_half_entry_is_left_and_one_line_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk, notices.overheard() as said:
        with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"x" * 4096)
        Target(str(disk), "127.0.0.1:1", "agent")
        assert [path.name for path in disk.iterdir()] == ["filler"]
    (line,) = said
    assert "No space left on device" in line
