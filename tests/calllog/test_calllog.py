"""The writer: order, several processes, rotation, full disks, forks, the end."""

import json
import os
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from harness.waiting import wait_for
from otel_mcp._record import calllog
from otel_mcp._record.calllog import CallLog

COMMON = {"service": "agent", "instance": "0123", "pid": 42, "version": "9.9"}
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")


def records(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def ids(path):
    return [record["id"] for record in records(path)]


def put(log, number, event="call"):
    log.put(event, time.time_ns(), "odoo", "stdio", {"id": str(number)})


@pytest.fixture
def said():
    return []


@pytest.fixture
def open_log(tmp_path, said):
    """Opens logs with warnings collected, and closes them afterwards."""
    opened = []

    def open_(path=None):
        log = CallLog(str(path or tmp_path / "calls.jsonl"), COMMON, said.append)
        opened.append(log)
        return log

    yield open_
    for log in opened:
        log.close(5.0)


def test_events_stand_in_the_file_in_the_order_in_which_they_were_told(open_log):
    log = open_log()
    for number in range(2000):
        put(log, number)
    log.close(5.0)
    assert ids(log.path) == [str(number) for number in range(2000)]


def test_an_event_comes_to_the_disk_without_a_close(open_log):
    log = open_log()
    put(log, 1)
    wait_for(lambda: Path(log.path).exists() and ids(log.path) == ["1"])
    put(log, 2)
    wait_for(lambda: ids(log.path) == ["1", "2"])
    assert calllog._GATHER < 0.5, "a second is promised, and a busy machine needs some of it"


def test_only_the_owner_may_read_the_file(open_log):
    log = open_log()
    put(log, 1)
    log.close(5.0)
    assert stat.S_IMODE(Path(log.path).stat().st_mode) == 0o600


def test_no_file_and_no_thread_exist_before_the_first_event(open_log):
    log = open_log()
    assert not Path(log.path).exists()
    assert "otel-mcp-call-log" not in [thread.name for thread in threading.enumerate()]


def test_pid_and_date_in_the_path_are_filled_in_and_other_braces_stay(tmp_path, open_log):
    log = open_log(tmp_path / "calls-{date}-{pid}-{host}.jsonl")
    put(log, 1)
    log.close(5.0)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert [path.name for path in tmp_path.iterdir()] == [f"calls-{today}-{os.getpid()}-{{host}}.jsonl"]


def test_a_new_day_begins_a_new_file(tmp_path, open_log, monkeypatch):
    days = iter(["2026-11-30"] * 2 + ["2026-12-01"] * 20)
    monkeypatch.setattr(calllog.time, "strftime", lambda *_: next(days))
    file = calllog._Appender(str(tmp_path / "{date}.jsonl"))
    for line in (b"a\n", b"b\n", b"c\n"):
        file.prepare()
        file.append(line)
    file.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "2026-11-30.jsonl": b"a\nb\n",
        "2026-12-01.jsonl": b"c\n",
    }


def test_after_logrotate_renamed_the_file_lines_go_to_a_new_one(open_log):
    log = open_log()
    put(log, 1)
    wait_for(lambda: Path(log.path).exists() and ids(log.path) == ["1"])
    Path(log.path).rename(log.path + ".1")
    put(log, 2)
    log.close(5.0)
    assert (ids(log.path + ".1"), ids(log.path)) == (["1"], ["2"])


def test_after_copytruncate_lines_begin_at_the_start_of_the_file(open_log):
    log = open_log()
    put(log, 1)
    wait_for(lambda: Path(log.path).exists() and ids(log.path) == ["1"])
    os.truncate(log.path, 0)
    put(log, 2)
    log.close(5.0)
    assert Path(log.path).read_bytes()[:1] == b"{"
    assert ids(log.path) == ["2"]


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "shared.jsonl"
    script = textwrap.dedent("""
        import sys
        from otel_mcp._record.calllog import CallLog
        log = CallLog(sys.argv[1], {"service": "agent", "pid": 1}, print)
        for number in range(500):
            log.put("call", 0, sys.argv[2], None, {"id": number, "tool": "x" * (number * 9)})
        log.close(10)
    """)
    writers = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "abc"]
    assert [writer.wait(30) for writer in writers] == [0, 0, 0]
    written = records(path)
    for name in "abc":
        assert [record["id"] for record in written if record["connector"] == name] == list(range(500))


def test_threads_lose_nothing(open_log):
    log = open_log()
    threads = [threading.Thread(target=lambda: [put(log, 0) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close(5.0)
    assert len(records(log.path)) == 2000
    assert log.dropped == 0


@linux_only
def test_a_full_disk_is_one_warning_and_the_lost_events_are_counted(open_log, said):
    log = open_log("/dev/full")
    for number in range(5):
        put(log, number)
    log.close(5.0)
    assert log.dropped == 5
    assert said == [
        "OTEL_MCP_CALL_LOG='/dev/full' cannot be written (No space left on device); the program goes on, its calls "
        "are not logged until it can be",
        "call log '/dev/full': 5 events were not written",
    ]


def test_a_folder_that_is_missing_is_one_warning_and_its_coming_is_noticed(tmp_path, open_log, said):
    path = tmp_path / "missing" / "calls.jsonl"
    log = open_log(path)
    put(log, 1)
    wait_for(lambda: said)
    assert said == [
        f"OTEL_MCP_CALL_LOG={str(path)!r} cannot be written (No such file or directory); the program goes on, its "
        "calls are not logged until it can be"
    ]
    path.parent.mkdir()
    put(log, 2)
    log.close(5.0)
    assert ids(path) == ["2"]
    assert said[1:] == [f"call log {str(path)!r}: 1 event was not written"]


def test_a_line_cut_short_is_ended_before_the_next_one(tmp_path, monkeypatch):
    path = tmp_path / "calls.jsonl"
    file = calllog._Appender(str(path))
    file.prepare()
    write = os.write
    monkeypatch.setattr(calllog.os, "write", lambda descriptor, line: write(descriptor, line[:3]))
    with pytest.raises(OSError, match="No space left"):
        file.append(b'{"id":1}\n')
    monkeypatch.undo()
    file.append(b'{"id":2}\n')
    file.append(b'{"id":3}\n')
    file.close()
    assert path.read_bytes() == b'{"i\n{"id":2}\n{"id":3}\n'


def test_a_queue_that_the_disk_does_not_empty_drops_what_is_new(open_log, monkeypatch, said):
    monkeypatch.setattr(calllog, "_MAX_QUEUED", 10)
    monkeypatch.setattr(CallLog, "_start_thread", lambda self: None)
    log = open_log()
    for number in range(25):
        put(log, number)
    log.close(5.0)
    assert ids(log.path) == [str(number) for number in range(10)]
    assert said == [f"call log {log.path!r}: 15 events were not written"]


def test_one_event_that_cannot_be_said_does_not_cost_the_next(open_log, monkeypatch, our_warnings):
    monkeypatch.setattr("otel_mcp._ground.guard.reraise", False)
    log = open_log()
    log.put("call", 0, None, None, lambda: {}["nothing"])
    put(log, 2)
    log.close(5.0)
    assert ids(log.path) == ["2"]
    our_warnings.clear()  # said the first time in a process


def test_what_comes_after_the_close_is_dropped_without_an_error(open_log):
    log = open_log()
    log.close(5.0)
    put(log, 1)
    assert log.dropped == 1


def test_a_finalizer_that_logs_while_the_same_thread_logs_does_not_lock_up(open_log):
    log = open_log()

    class Noisy:
        def __del__(self):
            put(log, 0)

    for _ in range(300):
        noisy = Noisy()
        noisy.itself = noisy  # left to the collector, which runs wherever it likes
        put(log, 1)
    log.close(5.0)
    assert len(records(log.path)) >= 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_writes_to_the_same_file_and_repeats_nothing(tmp_path):
    path = tmp_path / "calls.jsonl"
    script = textwrap.dedent("""
        import os, sys
        from otel_mcp._record.calllog import CallLog
        log = CallLog(sys.argv[1], {"service": "agent"}, print)
        log.put("call", 0, "parent", None, {"id": 1})
        child = os.fork()
        if child == 0:
            log.reset_after_fork()
            log.put("call", 0, "child", None, {"id": 2})
            log.close(5)
            os._exit(0)
        os.waitpid(child, 0)
        log.put("call", 0, "parent", None, {"id": 3})
        log.close(5)
    """)
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(path)], check=True, timeout=30)
    written = records(path)
    assert sorted(record["id"] for record in written) == [1, 2, 3]
    assert [record["id"] for record in written if record["connector"] == "parent"] == [1, 3]


@pytest.mark.skipif(not Path("/proc/self/syscall").exists(), reason="needs /proc")
def test_the_writer_waits_for_the_next_event_without_a_time_limit(open_log):
    log = open_log()
    put(log, 1)
    wait_for(lambda: Path(log.path).exists() and ids(log.path) == ["1"])
    thread = log._thread

    def system_call():
        return Path(f"/proc/self/task/{thread.native_id}/syscall").read_text().split()

    wait_for(lambda: len(system_call()) > 5 and system_call()[4] == "0x0")  # a futex wait whose time limit is NULL
