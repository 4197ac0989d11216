"""Panels' and rules' queries on a real Prometheus that holds a month with planted patterns and known truth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pytest
import yaml
from grafana_variables import expanded, panel, targets
from simulated_month import RECORDED_DAYS, Month

from dashboards import build, settings
from dashboards.queries import CONNECTOR

pytestmark = [pytest.mark.prometheus, pytest.mark.slow, pytest.mark.xdist_group("month")]


@dataclass
class Cell:
    """What really happened in one cell."""

    deadlines: int = 0
    at_an_edge: int = 0
    calls: int = 0

    def assert_within_a_boundary_sample_of(self, share: float) -> None:
        """One of the thirty samples of a half hour may fall on either side; `increase` then makes 30 of 29."""
        true = self.deadlines / self.calls
        assert share == pytest.approx(true, abs=(self.at_an_edge + self.deadlines / 29 + 0.1) / self.calls + true / 29)


Cells = dict[tuple[str, ...], Cell]
RAW_AND_RECORDED = [pytest.param("no", 30, id="raw"), pytest.param(".*", RECORDED_DAYS, id="recorded")]
AFTER = 60
"""Seconds. Up to Prometheus 2, a window that begins at an hour's end holds that hour too."""
MATRIX = "At which hour of the day does which connector run out of time?"
EVERY_DAY = "On which days did those hours run out of time?"
WEEKDAYS = "On which weekday at which hour?"
PLANTED_UTC = {
    ("simulated-odoo", "06"), ("simulated-payroll", "03"), ("simulated-payroll", "04"), ("simulated-files", "11"),
}  # fmt: skip
PLANTED_INDIA = {
    ("simulated-odoo", "11"), ("simulated-odoo", "12"), ("simulated-payroll", "09"),
    ("simulated-files", "16"), ("simulated-files", "17"),
}  # fmt: skip


def truth(
    month: Month, key: Callable[[str, datetime], tuple[str, ...]], days: float = 30, until: float = math.inf
) -> Cells:
    """The half hours that end within these days before `until`, or before the month's end."""
    known = month.simulation.truth
    until = min(until, month.end)
    cells: Cells = defaultdict(Cell)
    for (connector, start), calls in known.answerable.items():
        if until - days * 86400 < start + settings.BUCKET_SECONDS <= until:
            cell = cells[key(connector, datetime.fromtimestamp(start, timezone.utc))]
            cell.calls += calls
            cell.deadlines += known.deadlines.get((connector, start), 0)
            cell.at_an_edge += known.at_an_edge.get((connector, start), 0)
    return cells


def matrix(month: Month, at: float | None = None, **chosen: str) -> dict[tuple[str, str], float]:
    (target,) = panel(settings.DEADLINES_UID, MATRIX)["targets"]
    found = month.prometheus.instant(expanded(target["expr"], **chosen), at or month.end + AFTER)
    return {(labels[CONNECTOR], labels["hour"]): share for labels, share in found}


def red(cells: dict[tuple[str, str], float]) -> set[tuple[str, str]]:
    return {cell for cell, share in cells.items() if share >= settings.SHARE_RED}


@pytest.mark.parametrize(
    ("uid", "title", "target"), [pytest.param(*t, id=f"{t[1]}/{n}") for n, t in enumerate(targets())]
)
def test_every_query_of_every_panel_is_answered(month: Month, uid: str, title: str, target: dict[str, str]) -> None:
    expr = expanded(target["expr"], connector="simulated-odoo" if uid == settings.CONNECTOR_UID else ".+")
    if target["instant"]:
        month.prometheus.instant(expr, month.end)
    else:
        month.prometheus.range(expr, month.end - 86400, month.end, 600)


@pytest.mark.parametrize("file", ["otel-mcp-alerts.yml", "otel-mcp-recording.yml"])
def test_every_expression_of_every_rule_is_answered(month: Month, file: str) -> None:
    for group in yaml.safe_load((build.BUILT / "rules" / file).read_text())["groups"]:
        for rule in group["rules"]:
            month.prometheus.instant(rule["expr"], month.end)


@pytest.mark.parametrize(("recorded", "days"), RAW_AND_RECORDED)
def test_the_matrix_shows_the_planted_cells_in_red_and_no_others(month: Month, recorded: str, days: int) -> None:
    assert red(matrix(month, recorded=recorded, __range=f"{days}d")) == PLANTED_UTC


def test_a_habit_in_a_half_hour_zone_falls_into_one_hour_of_that_zone(month: Month) -> None:
    assert red(matrix(month, tz="5.5")) == PLANTED_INDIA


@pytest.mark.parametrize(("recorded", "days"), RAW_AND_RECORDED)
@pytest.mark.parametrize("zone", ["0", "5.5", "-8"])
def test_every_cell_equals_the_truth_within_a_boundary_sample(
    month: Month, zone: str, recorded: str, days: int
) -> None:
    shift = timedelta(hours=float(zone))
    cells = truth(month, lambda connector, moment: (connector, f"{(moment + shift).hour:02}"), days)
    found = matrix(month, tz=zone, recorded=recorded, __range=f"{days}d")
    assert len(found) >= 5 * 24
    for cell, share in found.items():
        cells[cell].assert_within_a_boundary_sample_of(share)


@pytest.mark.parametrize(("recorded", "bucket"), [("no", 1800), (".*", 3600)], ids=["raw", "recorded"])
def test_a_range_of_odd_length_at_an_odd_time_holds_the_hours_that_end_in_it(
    month: Month, recorded: str, bucket: int
) -> None:
    """Or the half hours, of raw series."""
    now = month.end - 3 * 3600 - 17 * 60
    last_end = now // bucket * bucket
    cells = truth(month, lambda connector, moment: (connector, f"{moment.hour:02}"), 10 + 15 / 24, last_end)
    found = matrix(month, now, recorded=recorded, __range="10d15h")
    assert len(found) >= 5 * 24
    for cell, share in found.items():
        cells[cell].assert_within_a_boundary_sample_of(share)


def test_hours_are_two_digits_from_00_to_23(month: Month) -> None:
    assert {hour for _, hour in matrix(month)} == {f"{h:02}" for h in range(24)}


def test_a_rare_connector_has_no_cell_until_the_minimum_of_calls_is_lowered(month: Month) -> None:
    rare = {c for c in matrix(month) if c[0] == "simulated-rare"}
    assert rare == set()
    assert {c for c in matrix(month, min_calls="1") if c[0] == "simulated-rare"} != set()


def test_a_dead_connector_has_no_cell_and_is_down_on_the_health_board(month: Month) -> None:
    assert not [c for c in matrix(month, min_calls="1") if c[0] == "simulated-dead"]
    (target,) = panel(settings.HEALTH_UID, "Which connectors are down, and when?")["targets"]
    found = month.prometheus.instant(expanded(target["expr"]), month.end)
    assert [(labels[CONNECTOR], value) for labels, value in found] == [("simulated-dead", 1.0)]


def test_an_outage_of_three_hours_is_one_block_on_the_days_panel_and_no_red_cell(month: Month) -> None:
    (target,) = panel(settings.DEADLINES_UID, EVERY_DAY)["targets"]
    expr = expanded(target["expr"], connector="simulated-warehouse")
    day = 86400
    dark = [
        (labels["hour"], int(moment) - day)
        for labels, values in month.prometheus.range(expr, month.start + day, month.end, day)
        for moment, share in values
        if float(share) >= 0.5
    ]
    assert dark == [(hour, month.start + 12 * day) for hour in ("13", "14", "15")]


@pytest.mark.parametrize(("recorded", "days"), RAW_AND_RECORDED)
def test_a_daily_habit_is_a_band_on_the_days_panel(month: Month, recorded: str, days: int) -> None:
    (target,) = panel(settings.DEADLINES_UID, EVERY_DAY)["targets"]
    expr = expanded(target["expr"], connector="simulated-odoo", recorded=recorded)
    found = month.prometheus.range(expr, month.end - (days - 1) * 86400, month.end, 86400)
    series = {labels["hour"]: values for labels, values in found}
    assert len(series["06"]) == days
    assert min(float(share) for _, share in series["06"]) > 0.2
    assert max(float(share) for hour, v in series.items() if hour != "06" for _, share in v) < 0.1


@pytest.mark.parametrize(("recorded", "days"), RAW_AND_RECORDED)
def test_weekday_cells_equal_the_truth_with_monday_as_0(month: Month, recorded: str, days: int) -> None:
    (target,) = panel(settings.DEADLINES_UID, WEEKDAYS)["targets"]
    cells = truth(month, lambda _, moment: (str(moment.weekday()), f"{moment.hour:02}"), days)
    found = month.prometheus.instant(expanded(target["expr"], recorded=recorded, __range=f"{days}d"), month.end + AFTER)
    assert len(found) == 7 * 24
    for labels, share in found:
        cells[labels["weekday"], labels["hour"]].assert_within_a_boundary_sample_of(share)


def test_hot_hour_finds_the_planted_cells_and_neither_the_outage_nor_anything_else(month: Month) -> None:
    groups = yaml.safe_load((build.BUILT / "rules" / "otel-mcp-alerts.yml").read_text())["groups"]
    (expr,) = (r["expr"] for g in groups for r in g["rules"] if r["alert"] == "McpDeadlineHotHour")
    found = month.prometheus.instant(expr, month.end)
    assert {(labels[CONNECTOR], labels["hour"]) for labels, _ in found} == PLANTED_UTC
    assert {tuple(sorted(labels)) for labels, _ in found} == {("hour", "job", CONNECTOR)}


def column_of(month: Month, title: str, place: int = 0, **chosen: str) -> dict[tuple[str, ...], float]:
    """A table's column: the labels' values but the name of the job, to the value."""
    target = panel(settings.DEADLINES_UID, title)["targets"][place]
    found = month.prometheus.instant(expanded(target["expr"], **chosen), month.end + AFTER)
    return {tuple(labels.values()): value for labels, value in found}


COUNTS = "Which connectors lost the most calls to deadlines?"


def test_the_share_and_the_counts_of_each_connector_equal_the_truth(month: Month) -> None:
    cells = truth(month, lambda connector, _: (connector,))
    calls, deadlines, shares = (column_of(month, COUNTS, place) for place in range(3))
    for key, cell in cells.items():
        assert calls[key] == pytest.approx(cell.calls, abs=2)
        assert deadlines[key] == pytest.approx(cell.deadlines, abs=2)
        assert shares[key] == pytest.approx(cell.deadlines / cell.calls, abs=0.001)


def test_recorded_counts_equal_the_truth_but_for_what_each_hour_is_extrapolated(month: Month) -> None:
    cells = truth(month, lambda connector, _: (connector,), RECORDED_DAYS)
    chosen = {"recorded": ".*", "__range": f"{RECORDED_DAYS}d"}
    calls, deadlines, shares = (column_of(month, COUNTS, place, **chosen) for place in range(3))
    for key, cell in cells.items():
        assert calls[key] == pytest.approx(cell.calls, rel=0.01, abs=2)
        assert deadlines[key] == pytest.approx(cell.deadlines, abs=cell.at_an_edge + cell.deadlines / 29 + 0.1)
        cell.assert_within_a_boundary_sample_of(shares[key])


def test_the_share_of_all_calls_in_the_range_is_the_same_raw_and_recorded(month: Month) -> None:
    (target,) = panel(settings.DEADLINES_UID, "And in the whole time range?")["targets"]
    (true,) = truth(month, lambda _, __: (), RECORDED_DAYS).values()
    for recorded in ("no", ".*"):
        expr = expanded(target["expr"], recorded=recorded, __range=f"{RECORDED_DAYS}d")
        ((_, share),) = month.prometheus.instant(expr, month.end + AFTER)
        assert share == pytest.approx(true.deadlines / true.calls, abs=0.001)


def test_the_lock_s_deadlines_are_shown_under_its_phase_and_the_host_s_limit(month: Month) -> None:
    found = column_of(month, "In which phase did the time run out, and whose limit was it?")
    locked = {key for key in found if "lock" in key}
    assert locked == {("simulated-files", "host", "lock")}
    of_all = column_of(month, "How much of the time do calls wait for our own lock?", 2)
    assert of_all == {("simulated-files",): pytest.approx(1, abs=0.01)}


def test_only_the_connector_behind_a_lock_shows_lock_time(month: Month) -> None:
    found = column_of(month, "How much of the time do calls wait for our own lock?")
    assert set(found) == {("simulated-files",)}
    assert 0.2 < found[("simulated-files",)] < 0.9


def test_a_longer_limit_would_have_helped_the_one_whose_answers_came_late(month: Month) -> None:
    title = "How many answers came after we had given up, and how late?"
    answered = column_of(month, title, 2)
    assert answered[("simulated-odoo",)] == pytest.approx(0.8, abs=0.05)
    assert answered[("simulated-payroll",)] == pytest.approx(0.1, abs=0.04)
    # The planted delays are even between one and nine seconds; the buckets around are 1, 2, 5 and 10.
    assert 2 < column_of(month, title, 3)[("simulated-odoo",)] <= 5.1
    assert 5 < column_of(month, title, 4)[("simulated-odoo",)] <= 10


def test_recorded_series_are_not_read_unless_the_variable_says_so(month: Month) -> None:
    (target,) = panel(settings.DEADLINES_UID, MATRIX)["targets"]
    nothing_recorded = target["expr"].replace("job_connector:", "absent:")
    expr = expanded(nothing_recorded)
    assert {tuple(labels.items()) for labels, _ in month.prometheus.instant(expr, month.end)}
    assert month.prometheus.instant(expanded(nothing_recorded, recorded=".*"), month.end) == []
