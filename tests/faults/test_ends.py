"""Faults that end the program, and programs that end in an unusual way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from faults.conftest import Seen
from faults.running import Agent, Pair, pair

from harness.collector import Collector
from harness.metrics import scrape
from harness.waiting import wait_for
from otel_mcp._start.targets import Target
from unchanged.ways import run as otel_mcp_run

SPANS_AT_ONCE = {"OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_LOGS_EXPORTER": "none"}


def after_ten(runs: Pair, collector: Collector) -> None:
    """Ten calls are made and told of everywhere; then the program goes on to its last five."""
    runs.both(lambda agent: agent.await_mark("ten"))
    runs.watched.await_lines(10)
    wait_for(lambda: spans(collector) == 10)
    runs.both(Agent.go)


def spans(collector: Collector) -> int:
    return collector.names("traces").count("tools/call echo")


def lost_lines(runs: Pair, calls: int = 15) -> int:
    """The lines that are missing; those that are there are whole, and the first ones."""
    text = runs.watched.log.read_text()
    assert text.endswith("\n")
    lines = runs.watched.lines()
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert {line["outcome"] for line in lines} == {"ok"}
    return calls - len(lines)


def collected_by(collector: Collector) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.endpoint}/v1/traces", **SPANS_AT_ONCE}


@pytest.mark.fault("agent killed")
def test_of_a_killed_agent_everything_older_than_a_second_is_there(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "killed", env=collected_by(collector)) as runs:
        after_ten(runs, collector)
        runs.both(lambda agent: agent.await_mark("kill me"))
        scraped = scrape(runs.watched.port)
        runs.both(lambda agent: agent.process.kill())
        runs.finish()
        assert scraped.value("otel_mcp_client_calls_total", otel_mcp_connector="killed", otel_mcp_outcome="ok") == 15
        seen(runs, lines=lost_lines(runs), spans=15 - spans(collector))
        next_one = Target(str(runs.watched.targets), "127.0.0.1:1", "the next process on this machine")
        assert len(list(runs.watched.targets.iterdir())) == 1, "the entry of the killed one goes"
        next_one.remove()


@pytest.mark.fault("os._exit")
def test_of_an_agent_that_ends_by_os_exit_everything_older_than_a_second_is_there(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "exits_at_once", env=collected_by(collector)) as runs:
        after_ten(runs, collector)
        runs.finish()
        assert runs.watched.process.returncode == 7
        seen(runs, lines=lost_lines(runs), spans=15 - spans(collector))


@pytest.mark.fault("mid-call")
def test_a_call_that_is_open_when_the_interpreter_shuts_down_is_recorded_as_orphaned(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "ends_in_mid_call", env=collected_by(collector)) as runs:
        runs.finish()
        assert (runs.watched.process.returncode, runs.watched.err) == (0, runs.plain.err)
        found = Counter((line["outcome"], line["cause"]) for line in runs.watched.lines())
        assert found == {("ok", None): 6, ("orphaned", "shutdown"): 1}
        assert spans(collector) == 6
        seen(runs, spans=0)


@pytest.mark.fault("workers")
def test_workers_forked_and_spawned_write_every_line_under_their_own_process_id(tmp_path: Path, seen: Seen) -> None:
    with pair(tmp_path / "runs", "workers", start=otel_mcp_run) as runs:
        runs.finish()
        assert runs.plain.told()[2:] == [[0, 0]], runs.plain.err
        lines = runs.watched.lines()
        assert {line["outcome"] for line in lines} == {"ok"}
        by_process = Counter(line["pid"] for line in lines)
        assert sorted(by_process.values()) == [2, 3, 3]
        assert len({line["instance"] for line in lines}) == 3
        seen(runs)
