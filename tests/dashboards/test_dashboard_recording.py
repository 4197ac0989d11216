"""The recording rules, evaluated minute by minute as promtool does it, and the panels' queries on what they keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_variables import expanded, panel
from promtool_cases import RULES, counter, promtool

from dashboards import settings
from dashboards.queries import CONNECTOR

pytestmark = pytest.mark.prometheus

MATRIX = "At which hour of the day does which connector run out of time?"
WEEKDAYS = "On which weekday at which hour?"
SHARES = "Which connectors lost the most calls to deadlines?"
CUT_OFF = range(91, 121)
"""Minutes since Thursday, 1970-01-01, 00:00: one of the ten calls that end in each hits its deadline."""
MINUTES = range(1, 242)
EVERY_CALL = {
    "deadline": counter([int(minute in CUT_OFF) for minute in MINUTES]),
    "ok": counter([10 - (minute in CUT_OFF) for minute in MINUTES]),
}
NOW = "3h1m"
"""A minute after a full hour: the rules have just stopped, which leaves a stale marker behind the last samples."""
Expected = dict[str, float]


def query(title: str, place: int = 0, **chosen: str) -> str:
    target = panel(settings.DEADLINES_UID, title)["targets"][place]
    return expanded(target["expr"], recorded=".*", **chosen)


def series(name: str, values: str, **labels: str) -> dict[str, str]:
    listed = ", ".join(f'{key}="{value}"' for key, value in {"job": "agents", CONNECTOR: "odoo", **labels}.items())
    return {"series": f"{name}{{{listed}}}", "values": values}


def cells(expected: Expected) -> list[dict[str, Any]]:
    """Labels that every element has are added here."""
    return [{"labels": f"{{{labels}}}", "value": value} for labels, value in expected.items()]


def of_odoo(**shares: float) -> Expected:
    """Shares by hour, as `h07=0.05`."""
    return {f'{CONNECTOR}="odoo", hour="{hour.removeprefix("h")}"': share for hour, share in shares.items()}


def evaluated(folder: Path, asked: list[tuple[str, str, Expected]], interval: str = "1m") -> None:
    """Each (time, query, answer) after four hours of calls, with the shipped group of rules at this interval."""
    hours = yaml.safe_load((RULES / "otel-mcp-recording.yml").read_text())["groups"][0]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [hours | {"interval": interval}]}))
    name = "otel_mcp_client_calls_total"
    calls = [series(name, values, instance="a", otel_mcp_outcome=outcome) for outcome, values in EVERY_CALL.items()]
    run(folder, calls, asked, ["rules.yml"])


def run(folder: Path, given: list[dict[str, str]], asked: list[tuple[str, str, Expected]], rules: list[str]) -> None:
    case = {
        "interval": "1m",
        "input_series": given,
        "promql_expr_test": [{"eval_time": t, "expr": e, "exp_samples": cells(answer)} for t, e, answer in asked],
    }
    (folder / "case.yml").write_text(
        yaml.safe_dump({"rule_files": rules, "evaluation_interval": "1m", "tests": [case]})
    )
    promtool("test", "rules", folder / "case.yml")


def test_an_hour_s_sums_are_kept_at_its_end_and_not_in_between(tmp_path: Path) -> None:
    """Both for the hour that ends then and for the one that ended half an hour before."""

    def of(hours: str) -> str:
        labels = {"__name__": settings.RECORDED_DEADLINES, "job": "agents", CONNECTOR: "odoo"}
        labels |= {settings.RECORDED_LABEL: "yes", settings.HOURS_LABEL: hours}
        return ", ".join(f'{key}="{value}"' for key, value in labels.items())

    kept = {"1h58m": 28, "1h59m": 29, "2h": 30}
    neither = ("1h30m", "1h57m", "2h1m", "2h15m", "2h30m")
    asked = [(time, settings.RECORDED_DEADLINES, {of("whole."): n, of("half."): 0}) for time, n in kept.items()]
    evaluated(tmp_path, asked + [(time, settings.RECORDED_DEADLINES, {}) for time in neither])


@pytest.mark.parametrize("interval", ["1m", "2m", "3m"])
def test_an_hour_counts_once_and_as_the_hour_of_the_chosen_zone(tmp_path: Path, interval: str) -> None:
    asked = [
        (NOW, query(MATRIX, __range="4h"), of_odoo(h00=0, h01=30 / 600, h02=0)),
        (NOW, query(MATRIX, __range="4h", tz="5.5"), of_odoo(h05=0, h06=0, h07=30 / 600)),
        (NOW, query(MATRIX, __range="4h", tz="5"), of_odoo(h05=0, h06=30 / 600, h07=0)),
        (NOW, query(MATRIX, __range="90m", tz="-10"), of_odoo(h15=30 / 600, h16=0)),
        (NOW, query(SHARES, 0, __range="4h"), {f'{CONNECTOR}="odoo"': 1800}),
        (NOW, query(SHARES, 1, __range="4h"), {f'{CONNECTOR}="odoo"': 30}),
        (NOW, query(SHARES, 2, __range="90m"), {f'{CONNECTOR}="odoo"': 30 / 1200}),
    ]
    evaluated(tmp_path, asked, interval)


def test_every_zone_of_the_dashboard_reads_its_own_hours_and_no_others(tmp_path: Path) -> None:
    given = [
        series(name, f"_x59 {amount} stale", recorded="yes", hours=hours)
        for hours, deadlines in (("whole.", 10), ("half.", 20))
        for name, amount in ((settings.RECORDED_DEADLINES, deadlines), (settings.RECORDED_ANSWERABLE, 100))
    ]
    asked = [
        ("61m", f"sum({query(MATRIX, __range='1h', tz=f'{zone:g}')})", {"": 0.2 if zone % 1 else 0.1})
        for zone in settings.ZONES
    ]
    run(tmp_path, given, asked, [])


def test_a_weekday_begins_at_midnight_of_the_chosen_zone(tmp_path: Path) -> None:
    def thursday_and_before(hours: dict[str, float]) -> Expected:
        return {f'weekday="{cell[0]}", hour="{cell[1:]}"': share for cell, share in hours.items()}

    asked = [
        (NOW, query(WEEKDAYS, __range="4h"), thursday_and_before({"300": 0, "301": 0.05, "302": 0})),
        # Half past one in London is half past eleven the evening before in a zone two hours behind it.
        (NOW, query(WEEKDAYS, __range="4h", tz="-2"), thursday_and_before({"222": 0, "223": 0.05, "300": 0})),
    ]
    evaluated(tmp_path, asked)


@pytest.mark.parametrize("only", [58, 59, 60])
def test_one_evaluation_of_three_is_enough(tmp_path: Path, only: int) -> None:
    kept = [minute == only for minute in range(only + 1)]
    given = [
        series(name, " ".join(str(amount) if one else "_" for one in kept) + " stale", recorded="yes", hours="whole.")
        for name, amount in {settings.RECORDED_DEADLINES: 30, settings.RECORDED_ANSWERABLE: 300}.items()
    ]
    run(tmp_path, given, [("62m", query(MATRIX, __range="1h"), of_odoo(h00=0.1))], [])
