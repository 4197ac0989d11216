"""promtool on the shipped rules: each alert fires, does not fire, and says exactly what it should."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from prometheus_process import required

from dashboards import build

pytestmark = pytest.mark.prometheus

CASES = Path(__file__).parent / "rules"
RULES = build.BUILT / "rules"
ALERTS = (
    "McpDeadlineBurnFast", "McpDeadlineBurnSlow", "McpDeadlineHotHour", "McpCallsFailing", "McpCallStuck",
    "McpBreakerOpen", "McpBreakerFlapping", "McpReconnectStorm", "McpConnectorDown", "McpTelemetryAbsent",
    "McpTelemetryBlind",
)  # fmt: skip
MINUTES_A_DAY = 1440


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run([required("promtool"), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alerts() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load((RULES / "otel-mcp-alerts.yml").read_text())["groups"]:
        yield from group["rules"]


@pytest.mark.parametrize("case", sorted(CASES.glob("*.yml")), ids=lambda path: path.stem)
def test_alerts_fire_and_stay_silent_as_the_cases_say(case: Path) -> None:
    assert "SUCCESS" in promtool("test", "rules", case)


def test_promtool_accepts_the_rules_and_both_configurations(tmp_path: Path) -> None:
    promtool("check", "rules", *sorted(RULES.glob("*.yml")))
    promtool("check", "config", "--syntax-only", build.BUILT / "prometheus.example.yml")
    promtool("check", "config", "--syntax-only", ROOT / "deploy" / "prometheus.yml")


def test_every_alert_of_the_contract_exists_once_and_has_cases_both_ways() -> None:
    assert sorted(rule["alert"] for rule in alerts()) == sorted(ALERTS)
    fired: set[str] = set()
    silent: set[str] = set()
    for case in CASES.glob("*.yml"):
        for test in yaml.safe_load(case.read_text())["tests"]:
            for expected in test["alert_rule_test"]:
                (fired if expected["exp_alerts"] else silent).add(expected["alertname"])
    by_the_month = {"McpDeadlineHotHour"}  # below, with whole days of series
    assert fired | by_the_month == silent | by_the_month == set(ALERTS)


@pytest.mark.parametrize("rule", list(alerts()), ids=lambda rule: rule["alert"])
def test_an_alert_says_what_how_much_and_where_to_go(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "dashboard_url", "runbook_url"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert notes["dashboard_url"].split("?")[0].removeprefix("/d/") in {board.uid for board in build.BOARDS}
    assert (ROOT / "docs" / notes["runbook_url"]).is_file()
    assert "instance" not in re.findall(r"\$labels\.(\w+)", "".join(notes.values()))


# --- McpDeadlineHotHour: whole days of minutes ----------------------------------------------------------------------
def counter(per_minute: list[int]) -> str:
    """promtool's notation of a counter that grows by these amounts, run by run."""
    text, value = ["0"], 0
    start = 0
    for place in range(1, len(per_minute) + 1):
        if place == len(per_minute) or per_minute[place] != per_minute[start]:
            step = per_minute[start]
            text.append(f"{value + step}+{step}x{place - start - 1}")
            value += step * (place - start)
            start = place
    return " ".join(text)


def hot_hour(days: int, cut: dict[int, list[int]], expected: list[dict[str, Any]]) -> dict[str, Any]:
    """A connector with two calls a minute; `cut` names the hours of each day in which every second one is cut off."""
    minutes = range(days * MINUTES_A_DAY)
    deadlines = [int(m // 60 % 24 in cut.get(m // MINUTES_A_DAY, [])) for m in minutes]
    series = 'otel_mcp_client_calls_total{job="agents", instance="a", otel_mcp_connector="odoo", otel_mcp_outcome="%s"}'
    return {
        "interval": "1m",
        "input_series": [
            {"series": series % "deadline", "values": counter(deadlines)},
            {"series": series % "ok", "values": counter([2 - cut_off for cut_off in deadlines])},
        ],
        "alert_rule_test": [
            {"eval_time": f"{days * 24}h", "alertname": "McpDeadlineHotHour", "exp_alerts": expected},
        ],
    }


def run_hot_hour(folder: Path, case: dict[str, Any]) -> None:
    case_file = folder / "hot-hour.yml"
    rules = [str(RULES / name) for name in ("otel-mcp-recording.yml", "otel-mcp-alerts.yml")]
    case_file.write_text(yaml.safe_dump({"rule_files": rules, "evaluation_interval": "1m", "tests": [case]}))
    promtool("test", "rules", case_file)


def test_a_habit_of_four_days_is_a_hot_hour(tmp_path: Path) -> None:
    fired = {
        "exp_labels": {"severity": "info", "job": "agents", "otel_mcp_connector": "odoo", "hour": "06"},
        "exp_annotations": {
            "summary": "odoo (agents): deadlines cluster at 06:00 UTC",
            "description": "50% of the calls to odoo (agents) between 06:00 and 06:59 UTC hit a deadline over the last "
            "14 days, at least five times the connector's own rate and on at least three days. Something else runs at "
            "that hour.",
            "dashboard_url": "/d/otel-mcp-deadlines?var-job=agents&var-connector=odoo",
            "runbook_url": "runbooks/McpDeadlineHotHour.md",
        },
    }
    run_hot_hour(tmp_path, hot_hour(4, {day: [6] for day in range(4)}, [fired]))


def test_two_days_at_the_same_hour_are_not_yet_a_habit(tmp_path: Path) -> None:
    run_hot_hour(tmp_path, hot_hour(4, {1: [6], 2: [6]}, []))


def test_one_outage_of_two_hours_is_no_habit(tmp_path: Path) -> None:
    run_hot_hour(tmp_path, hot_hour(4, {1: [6, 7]}, []))


def test_a_connector_that_is_slow_at_all_hours_has_no_hot_hour(tmp_path: Path) -> None:
    run_hot_hour(tmp_path, hot_hour(4, {day: list(range(24)) for day in range(4)}, []))
