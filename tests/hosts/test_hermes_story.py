# with: hermes
"""The story in examples/hermes, told once and read back: metrics, call log and `otel-mcp top`, while and after."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tools.mcp_tool", reason="hermes-agent is not installed; make test-hosts HOST=hermes")

from harness.children import events, read_jsonl
from harness.metrics import Scrape
from harness.package import environment

STORY = Path(__file__).resolve().parents[2] / "examples" / "hermes" / "story.py"
LONG_ENOUGH = 300.0  # seconds; the four acts take about 100


@dataclass(frozen=True)
class Act:
    """One act as it was seen."""

    during: Scrape
    after: Scrape
    top: str
    top_after: str
    log: list[dict[str, Any]]

    def calls(self, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(line[name] for name in names) for line in events(self.log, "call")]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    told = subprocess.run(
        [sys.executable, str(STORY), "--out", str(folder)],
        capture_output=True,
        text=True,
        env=environment(HERMES_HOME=str(folder / "home")),
        timeout=LONG_ENOUGH,
    )
    assert (told.returncode, told.stderr) == (0, ""), told.stdout + told.stderr
    return folder


def act(folder: Path, name: str) -> Act:
    def read(part: str) -> str:
        return (folder / f"{name}-{part}").read_text(encoding="utf-8")

    return Act(
        Scrape(read("while.prom")),
        Scrape(read("afterwards.prom")),
        read("while.top"),
        read("afterwards.top"),
        read_jsonl(folder / f"{name}.jsonl"),
    )


def test_three_rejected_arguments_open_the_breaker_of_a_healthy_server(story: Path) -> None:
    seen = act(story, "rejected")
    calendar = {"otel_mcp_connector": "calendar"}
    strikes = {
        point.labels["otel_mcp_breaker_cause"]: point.value
        for point in seen.during.matching("otel_mcp_client_breaker_strikes_total", **calendar)
    }
    assert (strikes["tool_error"], strikes["transport"], sum(strikes.values())) == (3, 0, 3)
    assert seen.during.value("otel_mcp_client_breaker_state", **calendar, otel_mcp_breaker_state="open") == 1
    assert seen.calls("tool", "outcome", "error_type", "sent", "breaker") == [
        ("echo", "ok", None, True, "closed"),
        ("reject", "tool_error", "tool_error", True, "closed"),
        ("reject", "tool_error", "tool_error", True, "closed"),
        ("reject", "tool_error", "tool_error", True, "closed"),
        ("echo", "rejected", "breaker_open", False, "open"),
        ("echo", "rejected", "breaker_open", False, "open"),
    ]
    (opened,) = events(seen.log, "breaker")
    assert (opened["to"], opened["cause"], opened["strikes"]) == ("open", "tool_error", {"tool_error": 3})
    assert "nothing is open" in seen.top_after


def test_of_three_slow_calls_two_die_of_the_lock_and_one_was_never_sent(story: Path) -> None:
    seen = act(story, "queue")
    odoo = {"otel_mcp_connector": "odoo"}
    assert seen.calls("tool", "outcome", "phase", "sent", "cause", "lock_holder") == [
        ("slow", "ok", "wait", True, None, None),
        ("notify_then_wait", "deadline", "lock", True, None, "slow on odoo"),
        ("slow", "deadline", "lock", False, "lock_wait", "notify_then_wait on odoo"),
    ]
    cut = {"otel_mcp_outcome": "deadline", "otel_mcp_phase": "lock", "otel_mcp_limit_source": "host"}
    assert seen.after.value("otel_mcp_client_cutoffs_total", **odoo, **cut) == 2
    waiting = seen.during.value("otel_mcp_client_call_oldest_age_seconds", **odoo, otel_mcp_phase="lock")
    assert waiting is not None
    assert waiting > 0
    assert "tools/call slow  lock   3 s host  notify_then_wait on odoo" in seen.top


def test_a_keepalive_in_a_call_orphans_it_and_leaves_the_lock_held(story: Path) -> None:
    seen = act(story, "keepalive")
    builds = {"otel_mcp_connector": "builds"}
    probe = {"otel_mcp_outcome": "deadline", "otel_mcp_keepalive_overlap": "true", "mcp_method_name": "ping"}
    assert seen.during.value("otel_mcp_client_keepalive_duration_seconds_count", **builds, **probe) == 1
    assert seen.during.value("otel_mcp_client_lock_waiting", **builds) == 1
    open_call = seen.during.value("otel_mcp_client_request_active", **builds, mcp_method_name="tools/call")
    assert open_call == 1
    reconnect = {"otel_mcp_connect_reason": "keepalive", "otel_mcp_outcome": "ok"}
    assert seen.during.value("otel_mcp_client_connect_duration_seconds_count", **builds, **reconnect) == 1
    orphan, listing = (" ".join(line.split()) for line in seen.top.splitlines()[2:4])
    assert orphan.endswith("tools/call slow wait 45 s host - - retired session")
    assert listing.endswith("tools/list lock - slow on builds - -")
    assert seen.calls("tool", "outcome", "keepalive_overlap", "limit", "generation") == [
        ("slow", "orphaned", True, 45.0, 1),
        ("echo", "ok", False, 45.0, 2),
    ]
    (first, *_) = events(seen.log, "call")
    assert first["elapsed"] >= 45.0
    assert any(
        (line["method"], line["phase"], line["lock_holder"]) == ("tools/list", "lock", "slow on builds")
        for line in events(seen.log, "still_waiting")
    )
    assert seen.after.value("otel_mcp_client_lock_waiting", **builds) == 0


def test_a_process_that_dies_is_started_again_and_the_call_sent_again(story: Path) -> None:
    seen = act(story, "death")
    scraper = {"otel_mcp_connector": "scraper"}
    assert seen.during.value("otel_mcp_client_faults_total", **scraper, otel_mcp_cause="process_exit") == 1
    assert seen.after.value("otel_mcp_client_faults_total", **scraper, otel_mcp_cause="process_exit") == 2
    assert seen.after.value("otel_mcp_client_retries_total", **scraper, otel_mcp_retry_unsafe="true") == 1
    assert seen.after.value("otel_mcp_client_connector_state", **scraper, otel_mcp_state="failed") == 1
    strikes = {"otel_mcp_breaker_cause": "transport"}
    assert seen.after.value("otel_mcp_client_breaker_strikes_total", **scraper, **strikes) == 3
    assert seen.calls("tool", "outcome", "error_type", "attempts", "sent") == [
        ("die", "disconnected", "connection_closed", 2, True),
        ("echo", "rejected", "not_connected", 1, False),
        ("echo", "rejected", "not_connected", 1, False),
        ("echo", "rejected", "breaker_open", 0, False),
    ]
    ends = [(line["cause"], line["exit_code"]) for line in events(seen.log, "session_end")]
    assert ends == [("process_exit", 3), ("process_exit", 3)]
