"""A small part of benchmarks/report_truth.py: the planted is found, and nothing else is claimed."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from otel_mcp._report.build import report_for
from otel_mcp._report.model import Finding
from otel_mcp._report.simulate import TYPICAL, Cluster, Connector, Outage, Scenario, write_history

NOW = datetime(2026, 11, 9, tzinfo=timezone.utc)
BERLIN = "Europe/Berlin"
CALM = (
    Connector("usual", calls_per_hour=8, share=0.01),
    Connector("office", calls_per_hour=10, share=0.01, hours=range(6, 18)),
    Connector("rare", calls_per_hour=0.4, share=0.01),
)
OUTAGES = (
    Outage(("usual",), 0.21, 480, 0.7),
    Outage(("usual", "office", "rare"), 0.6, 120),
    Outage(("rare",), 0.8, 40),
)
CLAIMS = {"hour", "weekday_hour", "connector", "tool", "stale_session", "keepalive"}


def claims(path: Path, scenario: Scenario, seed: int, days: int = 30) -> list[Finding]:
    write_history(path, days, seed=seed, now=NOW, scenario=scenario)
    return [finding for finding in report_for([path], tz=BERLIN).findings if finding.kind in CLAIMS]


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_claimed_where_only_outages_and_chance_are_at_work(tmp_path: Path, seed: int) -> None:
    assert claims(tmp_path / "calls.jsonl", Scenario(CALM, outages=OUTAGES), seed) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_daily_job_is_found_at_its_local_hour_across_the_change_of_clocks(tmp_path: Path, seed: int) -> None:
    planted = Cluster("usual", 0.3, hour=6, tz=BERLIN)
    found = claims(tmp_path / "calls.jsonl", Scenario(CALM, (planted,), OUTAGES), seed)
    assert [(f.kind, f.connector, f.hour) for f in found if f.kind == "hour"] == [("hour", "usual", 6)]


def test_a_slow_tool_and_a_weak_connector_are_found(tmp_path: Path) -> None:
    tool = claims(tmp_path / "calls.jsonl", Scenario(CALM, (Cluster("usual", 0.2, tool="read"),)), 1)
    assert ("tool", "usual", "read") in {(f.kind, f.connector, f.tool) for f in tool}
    whole = claims(tmp_path / "calls.jsonl", Scenario(CALM, (Cluster("usual", 0.08),)), 1)
    assert [(f.kind, f.connector) for f in whole] == [("connector", "usual")]


def test_the_history_that_comes_with_the_demo_shows_every_kind_it_plants(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write_history(path, 30, seed=1, now=NOW, scenario=TYPICAL)
    report = report_for([path])
    assert {finding.kind for finding in report.findings} == {
        "common_cause", "hour", "weekday_hour", "connector", "tool", "incident", "never_ended", "limit", "lock",
        "stale_session", "retry",
    }  # fmt: skip
    assert report.simulated
