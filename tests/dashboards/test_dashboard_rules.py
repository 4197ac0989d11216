"""promtool on the shipped rules: each alert fires, does not fire, and says exactly what it should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from promtool_cases import RULES, counter, promtool
from simulated_month import ROOT

from dashboards import build

pytestmark = pytest.mark.prometheus

HOT_HOUR = "McpDeadlineHotHour"
CASES = Path(__file__).parent / "rules"
ALERTS = (
    "McpDeadlineBurnFast", "McpDeadlineBurnSlow", HOT_HOUR, "McpCallsFailing", "McpCallStuck",
    "McpBreakerOpen", "McpBreakerFlapping", "McpReconnectStorm", "McpConnectorDown", "McpTelemetryAbsent",
    "McpTelemetryBlind",
)  # fmt: skip


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
    by_the_month = {HOT_HOUR}  # below, with whole days of series
    assert fired | by_the_month == silent | by_the_month == set(ALERTS)


@pytest.mark.parametrize("rule", list(alerts()), ids=lambda rule: rule["alert"])
def test_an_alert_says_what_how_much_and_where_to_go(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "dashboard_url", "runbook_url"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert notes["dashboard_url"].split("?")[0].removeprefix("/d/") in {board.uid for board in build.BOARDS}
    assert (ROOT / "docs" / notes["runbook_url"]).is_file()
    assert "instance" not in re.findall(r"\$labels\.(\w+)", "".join(notes.values()))


# --- McpDeadlineHotHour: days of minutes ----------------------------------------------------------------------------
HOURS = 3 * 24 + 4
"""Three days and the small hours of a fourth: each day's hour 01 is met four times."""
STEP = 5
"""Minutes between samples and evaluations; every shipped interval would take promtool minutes to go through. No more
than a query looks back: promtool evaluates groups in any order, and the alert reads what was recorded a step before."""
CUT_OFF = {
    "habit": {1, 25, 49, 73},
    "two-days": {25, 49},
    "one-outage": {25, 26, 27},
    "always-slow": set(range(HOURS)),
}
"""By connector, the hours since the start in which every second call is cut off."""


def series_of(connector: str) -> list[dict[str, str]]:
    """Ten calls a step."""
    deadlines = [5 * (m // 60 in CUT_OFF[connector]) for m in range(0, HOURS * 60, STEP)]
    name = f'otel_mcp_client_calls_total{{job="agents", instance="a", otel_mcp_connector="{connector}", '
    return [
        {"series": name + 'otel_mcp_outcome="deadline"}', "values": counter(deadlines)},
        {"series": name + 'otel_mcp_outcome="ok"}', "values": counter([10 - n for n in deadlines])},
    ]


def eased(group: dict[str, Any]) -> dict[str, Any]:
    """The group at a longer interval, its window no longer than the days there are, without the other alerts."""
    rules = [
        rule | {"expr": rule["expr"].replace("[2w:", "[4d:")}
        for rule in group["rules"]
        if rule.get("alert", HOT_HOUR) == HOT_HOUR
    ]
    return group | {"interval": f"{STEP}m", "rules": rules}


@pytest.mark.slow
def test_only_a_habit_of_days_is_a_hot_hour_and_no_outage_and_no_slow_connector(tmp_path: Path) -> None:
    rules = [group for file in sorted(RULES.glob("*.yml")) for group in yaml.safe_load(file.read_text())["groups"]]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [eased(group) for group in reversed(rules)]}))
    fired = {
        "exp_labels": {"severity": "info", "job": "agents", "otel_mcp_connector": "habit", "hour": "01"},
        "exp_annotations": {
            "summary": "habit (agents): deadlines cluster at 01:00 UTC",
            "description": "50% of the calls to habit (agents) between 01:00 and 01:59 UTC hit a deadline over the "
            "last 14 days, at least five times the connector's own rate and on at least three days. Something else "
            "runs at that hour.",
            "dashboard_url": "/d/otel-mcp-deadlines?var-job=agents&var-connector=habit",
            "runbook_url": "runbooks/McpDeadlineHotHour.md",
        },
    }
    case = {
        "interval": f"{STEP}m",
        "input_series": [series for connector in CUT_OFF for series in series_of(connector)],
        "alert_rule_test": [
            {"eval_time": "26h", "alertname": HOT_HOUR, "exp_alerts": []},
            {"eval_time": f"{HOURS}h", "alertname": HOT_HOUR, "exp_alerts": [fired]},
        ],
    }
    file = {"rule_files": ["rules.yml"], "evaluation_interval": f"{STEP}m", "tests": [case]}
    (tmp_path / "hot-hour.yml").write_text(yaml.safe_dump(file))
    promtool("test", "rules", tmp_path / "hot-hour.yml")
