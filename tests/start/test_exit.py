"""The end of the process: what can be written is, and a collector that hangs does not hold it."""

import json
import textwrap
import time
from pathlib import Path

import pytest

from harness.package import FOLDER
from otel_mcp._start import exit as exit_module

SPAN = 'bound["traces"].get_tracer("otel_mcp").start_span("tools/call add").end()\n'


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_at_a_normal_exit_open_calls_are_closed_before_the_log_and_the_exporters_are(child, collector, tmp_path):
    receiver, log = collector(), tmp_path / "calls.jsonl"
    ended = child(
        """
        from otel_mcp._observe import shutdown
        def close_open_calls():
            recorder.call_log.put("call", 0, "odoo", "stdio", {"id": "1", "outcome": "orphaned"})
            bound["traces"].get_tracer("otel_mcp").start_span("orphaned").end()
        shutdown.close_open_calls = close_open_calls
        ensure_started()
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_MCP_CALL_LOG=str(log),
    )
    assert (ended.code, ended.err) == (0, "")
    assert [line["outcome"] for line in lines(log)] == ["orphaned"]
    assert [request["items"] for request in receiver.taken("traces")] == [["orphaned"]]


def test_a_collector_that_never_answers_holds_the_exit_two_seconds_and_one_line_says_so(child, collector, tmp_path):
    receiver, log = collector("blackhole"), tmp_path / "calls.jsonl"
    ended = child(
        "ensure_started(); count()\n"
        + SPAN
        + textwrap.dedent("""
            recorder.call_log.put("call", 0, "odoo", "stdio", {"id": "1"})
            import atexit
            began = []
            atexit.register(lambda: began.append(time.monotonic()))
            atexit._run_exitfuncs()
            print(time.monotonic() - began[0])
        """),
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_MCP_CALL_LOG=str(log),
    )
    assert ended.code == 0
    assert ended.lines == ["the last telemetry could not be sent within the 2 s of an exit and is lost"]
    assert len(lines(log)) == 1
    assert float(ended.out) < 8.0, "the SDK's own exit takes 20 s; the rest is for a busy machine"


def test_the_end_needs_no_new_thread(child, collector):
    receiver = collector()
    ended = child(
        "ensure_started()\n"
        + SPAN
        + textwrap.dedent("""
            def refuse(self):
                raise RuntimeError("can't create new thread at interpreter shutdown")  # as Python 3.12 says it
            threading.Thread.start = refuse
        """),
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.endpoint}/v1/traces",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.err) == (0, "")
    assert len(receiver.taken("traces")) == 1


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_multiprocessing_worker_writes_its_last_lines(child, tmp_path, way):
    (tmp_path / "work.py").write_text(
        textwrap.dedent("""
            def work(number):
                from otel_mcp._record.recorder import recorder
                from otel_mcp._start.runtime import ensure_started
                ensure_started()
                recorder.call_log.put("call", 0, "worker", None, {"id": number})
        """)
    )
    ended = child(
        f"""
        import multiprocessing
        import work
        context = multiprocessing.get_context({way!r})
        worker = context.Process(target=work.work, args=(7,))
        worker.start(); worker.join()
        print(worker.exitcode)
        """,
        OTEL_MCP_CALL_LOG=str(tmp_path / "calls.jsonl"),
        OTEL_METRICS_EXPORTER="none",
        PYTHONPATH=f"{tmp_path}:{FOLDER}",
    )
    assert (ended.code, ended.out, ended.err) == (0, "0\n", "")
    assert [line["id"] for line in lines(tmp_path / "calls.jsonl")] == [7]


def test_a_farewell_runs_once_and_only_when_begun():
    done = []
    farewell = exit_module.Farewell(lambda: done.append(1), "traces")
    assert not farewell.wait(0.0)
    assert done == []
    farewell.begin()
    farewell.begin()
    assert farewell.wait(5.0)
    assert done == [1]


def test_waiting_for_several_farewells_is_bounded_by_one_deadline():
    never = exit_module.Farewell(lambda: time.sleep(3600), "traces")
    soon = exit_module.Farewell(lambda: None, "metrics")
    never.begin()
    soon.begin()
    assert soon.wait(5.0)
    assert exit_module.wait_for([never, soon], time.monotonic()) is False
    assert exit_module.wait_for([soon], time.monotonic()) is True
