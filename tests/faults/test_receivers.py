"""What receives the telemetry stops or dies: the program does not notice."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from faults.conftest import Seen
from faults.running import Agent, Pair, pair

from harness.collector import Collector
from harness.metrics import scrape
from harness.prometheus import prometheus
from harness.waiting import wait_for


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
    tmp_path: Path, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "works_on", marks=("stop", "kill", "look")) as runs:
        runs.both(lambda agent: agent.await_mark("stop"))
        with prometheus(tmp_path, scrape_ports=[runs.watched.port], interval="100ms") as server:
            wait_for(server.targets_up, timeout=60)
            stop_in_mid_scrape(server.process, runs.watched.port)
            runs.both(Agent.go)
            runs.both(lambda agent: agent.await_mark("kill"))
            while_stopped = calls_scraped(runs)
            server.process.kill()
            runs.both(Agent.go)
            runs.both(lambda agent: agent.await_mark("look"))
        assert (while_stopped, calls_scraped(runs)) == (25, 45)
        runs.both(Agent.go)
        runs.finish()
        assert runs.watched.err == runs.plain.err
        seen(runs, lines=65 - len(runs.watched.lines()))


def calls_scraped(runs: Pair) -> float:
    return scrape(runs.watched.port).total("otel_mcp_client_calls_total")


def lose(runs: Pair, collector: Collector, how: signal.Signals) -> list[str]:
    """The collector has the first five spans and gets no more; what the watched program then says."""
    runs.both(lambda agent: agent.await_mark("lose"))
    wait_for(lambda: spans(collector) == 5)
    collector.process.send_signal(how)
    runs.both(Agent.go)
    runs.finish()
    return runs.watched.err.splitlines()


def everything_to(collector: Collector) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}


@pytest.mark.fault("collector stopped")
def test_a_collector_that_is_stopped_holds_the_end_of_the_program_two_seconds_at_most(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "works_on", env=everything_to(collector), marks=("lose",)) as runs:
        assert lose(runs, collector, signal.SIGSTOP) == [
            "otel_mcp: the last telemetry could not be sent within the 2 s of an exit and is lost"
        ]
        seen(runs, lines=25 - len(runs.watched.lines()), spans=25 - spans(collector))


@pytest.mark.fault("collector killed")
def test_a_collector_that_is_killed_costs_what_it_would_have_taken_and_one_line_a_signal(
    tmp_path: Path, collector: Collector, seen: Seen
) -> None:
    with pair(tmp_path / "runs", "works_on", env=everything_to(collector), marks=("lose",)) as runs:
        said = lose(runs, collector, signal.SIGKILL)
        assert len(said) <= 4, "traces, metrics, logs, and the end"
        assert all(line.startswith("otel_mcp: ") and "Traceback" not in line for line in said)
        seen(runs, lines=25 - len(runs.watched.lines()), spans=25 - spans(collector))
