"""An agent at work while everything around it, and it itself, is killed and stopped at random.

`SOAK_SECONDS` makes it go on for so long. Every choice comes from a seed, which is printed.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from faults.running import ENTRY, Agent, Pair, pair

from harness.collector import Collector
from harness.metrics import scrape
from harness.prometheus import prometheus

SECONDS = max(2.0, float(os.environ.get("SOAK_SECONDS", "0")))
PAUSE = 0.25
"""Seconds that something stays stopped, and between two shots."""
MEMORY = 60_000_000
"""Bytes by which the watched program may be larger than the plain one: OpenTelemetry, the exporters, their queues."""


def servers_of(agent: Agent) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(agent.process.pid).children()
    return []


def stopped_for_a_moment(processes: list[psutil.Process]) -> None:
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        if number == signal.SIGSTOP:
            time.sleep(PAUSE)


def kill_a_server(runs: Pair, dice: random.Random) -> None:
    for agent in (runs.plain, runs.watched):
        for process in dice.sample(found := servers_of(agent), min(1, len(found))):
            with contextlib.suppress(psutil.Error):
                process.kill()


@pytest.mark.prometheus
def test_under_fire_every_call_is_one_record_and_nothing_gathers(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    dice, shots = random.Random(seed), Counter[str]()
    print("seed", seed)
    collector = Collector(tmp_path, "ok")
    everything = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_METRIC_EXPORT_INTERVAL": "1000"}
    with (
        contextlib.ExitStack() as stack,
        pair(tmp_path / "runs", "under_fire", env=everything, seconds=SECONDS) as runs,
    ):
        stack.callback(collector.stop)
        server = stack.enter_context(prometheus(tmp_path, scrape_ports=[runs.watched.port], interval="1s"))
        agents = [psutil.Process(agent.process.pid) for agent in (runs.plain, runs.watched)]
        scraper = psutil.Process(server.process.pid)
        fire: dict[str, Callable[[], None]] = {
            "server killed": lambda: kill_a_server(runs, dice),
            "servers stopped": lambda: stopped_for_a_moment([*servers_of(runs.plain), *servers_of(runs.watched)]),
            "agents stopped": lambda: stopped_for_a_moment(agents),
            "scraper stopped": lambda: stopped_for_a_moment([scraper]),
            "collector stopped": lambda: stopped_for_a_moment([psutil.Process(collector.process.pid)]),
            "collector killed": collector.restart,
        }
        runs.both(lambda agent: agent.await_mark("begun"))
        while not runs.watched.fields("gave") and runs.watched.process.poll() is None:
            name = dice.choice(list(fire))
            shots[name] += 1
            fire[name]()
            time.sleep(PAUSE)
        runs.both(lambda agent: agent.await_mark("look"))
        look_at(runs)
        runs.both(Agent.go)
        runs.finish()
        print(dict(shots))
        every_call_is_one_line(runs)
        assert [*runs.watched.left_behind(), *runs.plain.left_behind()] == []


def look_at(runs: Pair) -> None:
    """While both wait at their end: nothing is open, nothing of ours has failed, nothing has grown."""
    scraped = scrape(runs.watched.port)
    assert scraped.total("otel_mcp_client_request_active") == 0
    assert scraped.total("otel_mcp_internal_errors_total") == 0
    plain, watched = (psutil.Process(agent.process.pid) for agent in (runs.plain, runs.watched))
    assert watched.num_threads() - plain.num_threads() < 20
    assert watched.num_fds() - plain.num_fds() < 20
    more = watched.memory_info().rss - plain.memory_info().rss
    print(f"with us {more / 1e6:.0f} MB more")
    assert more < MEMORY


def every_call_is_one_line(runs: Pair) -> None:
    (gave,) = runs.watched.fields("gave")
    lines = runs.watched.lines("under_fire")
    print("without us", *runs.plain.fields("gave"), "with us", gave)
    by_outcome = Counter(line["outcome"] for line in lines)
    ids = [line["id"] for line in lines]
    assert len(set(ids)) == len(ids)
    assert by_outcome["ok"] == gave["answer"]
    assert by_outcome["deadline"] == gave.get("time limit", 0)
    assert sum(by_outcome.values()) == sum(gave.values()) - gave.get("no session", 0)
    assert ENTRY not in runs.watched.left_behind()
