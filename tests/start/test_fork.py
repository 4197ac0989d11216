"""A forked child gives up what belongs to its parent and starts its own at its first session."""

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

FORK = """
def forked(work):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_a_child_has_no_listener_no_thread_and_no_provider_of_its_parent(child, collector):
    ended = child(
        "ensure_started(); count(5)\n"
        + FORK
        + """
def look():
    assert bound.all() == (None, None, None)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("otel-mcp")] == []
    import gc, socket
    assert [each for each in gc.get_objects() if isinstance(each, socket.socket) and each.fileno() >= 0
            and each.getsockname()[1] == port] == []
    assert runtime.in_force()["endpoint"] is None
port = int(runtime.in_force()["endpoint"].rpartition(":")[2])
assert forked(look) == 0
assert "test_calls_total 5.0" in scrape()
""",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector().endpoint,
    )
    assert (ended.code, ended.err) == (0, "")


def test_when_the_parent_is_gone_its_port_is_free_although_a_child_lives(child):
    ended = child(
        "ensure_started(); count()\n"
        + FORK
        + """
first = runtime.in_force()["endpoint"]
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    os.read(read, 1)  # lives until the parent's end of the pipe is closed
    os._exit(0)
os.close(read)
runtime.stop()
os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"] = first.rpartition(":")[2]
ensure_started(); count()
assert runtime.in_force()["endpoint"] == first
assert scrape(first)
"""
    )
    assert (ended.code, ended.err) == (0, "")


def test_a_child_that_opens_a_session_has_an_endpoint_counts_and_an_identity_of_its_own(child, tmp_path):
    ended = child(
        "ensure_started(); count(5)\n"
        + FORK
        + """
recorder.call_log.put("call", 0, "parent", None, {"id": "1"})
parent = runtime.in_force()["endpoint"]
def work():
    ensure_started()
    count(1)
    assert runtime.in_force()["endpoint"] != parent
    assert "test_calls_total 1.0" in scrape()
    recorder.call_log.put("call", 0, "child", None, {"id": "2"})
    runtime.stop()
assert forked(work) == 0
assert "test_calls_total 5.0" in scrape()
""",
        OTEL_MCP_CALL_LOG=str(tmp_path / "calls.jsonl"),
    )
    assert (ended.code, ended.err) == (0, "")
    lines = [json.loads(line) for line in Path(tmp_path / "calls.jsonl").read_text().splitlines()]
    assert {line["connector"]: line["id"] for line in lines} == {"parent": "1", "child": "2"}
    assert len({line["instance"] for line in lines}) == len({line["pid"] for line in lines}) == 2


def test_a_session_inherited_by_a_child_starts_the_childs_telemetry_at_its_next_attempt(child):
    ended = child(
        "ensure_started()\n"
        + FORK
        + """
def work():
    recorder.before_attempt()
    count(1)
    assert "test_calls_total 1.0" in scrape()
assert forked(work) == 0
"""
    )
    assert (ended.code, ended.err) == (0, "")


def test_a_child_sends_nothing_that_its_parent_recorded(child, collector):
    receiver = collector()
    ended = child(
        "ensure_started()\n"
        + FORK
        + """
bound["traces"].get_tracer("otel_mcp").start_span("of the parent").end()
assert forked(lambda: time.sleep(0.3)) == 0
""",
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_BSP_SCHEDULE_DELAY="60000",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.err) == (0, "")
    assert [request["items"] for request in receiver.taken()] == [["of the parent"]]


def test_a_fork_before_the_first_session_changes_nothing(child):
    ended = child(FORK + "assert forked(lambda: None) == 0\nensure_started(); count(); assert scrape()")
    assert (ended.code, ended.err) == (0, "")
