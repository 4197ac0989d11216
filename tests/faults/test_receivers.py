"""What receives the telemetry stops or dies: the program does not notice."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from faults.conftest import Seen
from faults.running import Agent, Pair, pair

from harness.collector import Collector
from harness.metrics import Scrape, scrape
from harness.prometheus import prometheus
from harness.waiting import wait_for

MARKS = ("stop prometheus", "kill prometheus", "scrape", "stop collector")
CALLS = 5 + 20 * len(MARKS)


@dataclass
class Run:
    pair: Pair
    collector: Collector
    while_stopped: Scrape
    after_both: Scrape


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One program, under a Prometheus that is stopped and killed and then a collector that is stopped."""
    folder = tmp_path_factory.mktemp("receivers")
    collector = Collector(folder, "ok")
    everything = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    try:
        with pair(folder / "runs", "works_on", env=everything, marks=MARKS) as runs:
            runs.both(lambda agent: agent.await_mark(MARKS[0]))
            with prometheus(folder, scrape_ports=[runs.watched.port], interval="100ms") as server:
                wait_for(server.targets_up, timeout=60)
                stop_in_mid_scrape(server.process, runs.watched.port)
                runs.both(Agent.go)
                runs.both(lambda agent: agent.await_mark(MARKS[1]))
                while_stopped = scrape(runs.watched.port)
                server.process.kill()
                runs.both(Agent.go)
                runs.both(lambda agent: agent.await_mark(MARKS[2]))
            after_both = scrape(runs.watched.port)
            runs.both(Agent.go)
            runs.both(lambda agent: agent.await_mark(MARKS[3]))
            collector.process.send_signal(signal.SIGSTOP)
            runs.both(Agent.go)
            runs.finish()
            yield Run(runs, collector, while_stopped, after_both)
    finally:
        collector.stop()


def stop_in_mid_scrape(process: subprocess.Popen[bytes], port: int) -> None:
    """Stops it at moments until one is in the middle of a scrape: its connection to the endpoint stands."""

    def stopped() -> bool:
        process.send_signal(signal.SIGSTOP)
        if any(
            connection.laddr and connection.status == psutil.CONN_ESTABLISHED and connection.raddr.port == port
            for connection in psutil.net_connections("tcp")
            if connection.pid == process.pid
        ):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait_for(stopped, timeout=60)


def spans(collector: Collector) -> int:
    return collector.names("traces").count("tools/call echo")


@pytest.mark.prometheus
@pytest.mark.fault("prometheus")
def test_a_prometheus_that_stops_in_mid_scrape_or_dies_costs_the_program_and_other_scrapers_nothing(
    run: Run, seen: Seen
) -> None:
    counted = [found.total("otel_mcp_client_calls_total") for found in (run.while_stopped, run.after_both)]
    assert counted == [25, 45]
    seen(run.pair, lines=CALLS - len(run.pair.watched.lines()))


@pytest.mark.prometheus
@pytest.mark.fault("collector stopped")
def test_a_collector_that_is_stopped_holds_the_end_of_the_program_two_seconds_at_most(run: Run, seen: Seen) -> None:
    assert run.pair.watched.err.splitlines() == [
        "otel_mcp: the last telemetry could not be sent within the 2 s of an exit and is lost"
    ]
    assert spans(run.collector) >= 5
    seen(run.pair, lines=CALLS - len(run.pair.watched.lines()), spans=CALLS - spans(run.collector))


@pytest.mark.fault("collector killed")
def test_a_collector_that_is_killed_costs_what_it_would_have_taken_and_one_line_a_signal(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    everything = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    with pair(tmp_path / "runs", "works_on", env=everything, marks=("kill",)) as runs:
        runs.both(lambda agent: agent.await_mark("kill"))
        wait_for(lambda: spans(collector) == 5)
        collector.process.kill()
        runs.both(Agent.go)
        runs.finish()
        said = runs.watched.err.splitlines()
        assert len(said) <= 4, "traces, metrics, logs, and the end"
        assert all(line.startswith("otel_mcp: ") and "Traceback" not in line for line in said)
        seen(runs, lines=25 - len(runs.watched.lines()), spans=25 - spans(collector))
