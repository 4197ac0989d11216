"""Faults that a program outlives: one run of it goes through all of them, scene by scene."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from faults.conftest import Seen
from faults.running import Agent, Pair, pair

from harness.children import LONG_ENOUGH
from harness.real_parts import uvloop
from harness.waiting import wait_for

SESSIONS = 150 + 5 * int(float(os.environ.get("SOAK_SECONDS", "0")))
SCENES = (
    "server_killed",
    "server_stopped",
    "agent_stopped",
    "out_of_descriptors",
    "copied_contexts",
    "abandoned_generators",
    "hundreds_of_sessions",
    "handler_calls_in",
    "handler_raises",
)


def lost(run: Pair, scene: str, **expected: int) -> int:
    """How many lines are missing in the call log; none may be of another outcome, or twice."""
    found = Counter(line["outcome"] for line in run.watched.lines(scene))
    assert found - Counter(expected) == Counter(), found
    return sum(expected.values()) - sum(found.values())


def continue_when_stopped(agent: Agent) -> None:
    agent.await_mark("stopped")
    process = psutil.Process(agent.process.pid)
    wait_for(lambda: process.status() == psutil.STATUS_STOPPED, timeout=LONG_ENOUGH)
    process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("living"), *SCENES, sessions=SESSIONS) as runs:
        runs.both(continue_when_stopped)
        runs.finish()
        assert runs.watched.process.returncode == 0, runs.watched.err
        yield runs


@pytest.mark.fault("server killed")
def test_a_call_whose_server_is_killed_ends_as_ever_and_is_one_line(run: Pair, seen: Seen) -> None:
    seen(run, scene="server_killed", lines=lost(run, "server_killed", ok=7, disconnected=1))


@pytest.mark.fault("server stopped")
def test_calls_to_a_stopped_server_end_by_their_limit_and_later_ones_are_answered(run: Pair, seen: Seen) -> None:
    seen(run, scene="server_stopped", lines=lost(run, "server_stopped", ok=6, deadline=2))


@pytest.mark.fault("agent stopped")
def test_an_agent_that_was_stopped_in_mid_call_goes_on_where_it_was(run: Pair, seen: Seen) -> None:
    seen(run, scene="agent_stopped", lines=lost(run, "agent_stopped", ok=8))


@pytest.mark.fault("descriptors")
def test_without_descriptors_the_open_session_goes_on_and_its_calls_are_logged(run: Pair, seen: Seen) -> None:
    assert "OSError" in str(run.plain.told("out_of_descriptors")), "a second session must not have been possible"
    seen(run, scene="out_of_descriptors", lines=lost(run, "out_of_descriptors", ok=23))


@pytest.mark.fault("contexts")
def test_calls_in_copied_contexts_are_calls_of_their_own(run: Pair, seen: Seen) -> None:
    copies = run.plain.told("copied_contexts").count("copied")
    assert copies >= 3
    seen(run, scene="copied_contexts", lines=lost(run, "copied_contexts", ok=3 + copies, cancelled=1))


@pytest.mark.fault("generators")
def test_what_is_abandoned_half_way_is_closed_as_ever_and_a_call_in_it_is_one_line(run: Pair, seen: Seen) -> None:
    seen(run, scene="abandoned_generators", lines=lost(run, "abandoned_generators", ok=9, cancelled=1))


@pytest.mark.fault("sessions")
def test_hundreds_of_sessions_leave_their_lines_and_nothing_else(run: Pair, seen: Seen) -> None:
    ends = run.watched.lines("hundreds_of_sessions", "session_end")
    connects = run.watched.lines("hundreds_of_sessions", "connect")
    assert (len(connects), len(ends)) == (SESSIONS, SESSIONS)
    print("sessions a second, without us and with us:", run.plain.fields("rate"), run.watched.fields("rate"))
    seen(run, scene="hundreds_of_sessions", lines=lost(run, "hundreds_of_sessions", ok=SESSIONS))


@pytest.mark.fault("handler calls")
def test_a_signal_handler_may_call_us_wherever_it_interrupts(run: Pair, seen: Seen) -> None:
    (handled,) = run.watched.fields("handled")
    assert len(run.watched.lines("handler")) == handled
    assert handled > 0
    seen(run, scene="handler_calls_in", lines=lost(run, "handler_calls_in", ok=100))


@pytest.mark.fault("handler raises")
def test_what_a_signal_handler_raises_reaches_the_program_also_out_of_our_work(run: Pair, seen: Seen) -> None:
    assert run.watched.fields("alarms") == [[6, 6]]
    seen(run, scene="handler_raises", lines=lost(run, "handler_raises", ok=3, error=6))


@pytest.mark.fault("uvloop")
def test_on_uvloop_all_is_the_same(tmp_path: Path, seen: Seen) -> None:
    uvloop()
    scenes = ("server_killed", "server_stopped", "copied_contexts")
    with pair(tmp_path / "runs", *scenes, loop="uvloop") as runs:
        runs.finish()
        assert runs.watched.process.returncode == 0, runs.watched.err
        for scene in scenes[:2]:
            assert runs.watched.told(scene) == runs.plain.told(scene)
        missing = lost(runs, "server_killed", ok=7, disconnected=1) + lost(runs, "server_stopped", ok=6, deadline=2)
        seen(runs, scene="copied_contexts", lines=missing)
