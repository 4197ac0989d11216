from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

from report.report_logs import NOON, call, cut, event, of_kind, report_of, spread

MIDNIGHT = NOON.replace(hour=0)


def test_an_hour_that_is_bad_every_day_is_told_with_its_numbers(tmp_path: Path) -> None:
    cuts = [cut(MIDNIGHT + timedelta(days=day, hours=6, minutes=m)) for day in range(20) for m in (5, 25)]
    [finding] = of_kind(report_of(tmp_path, spread(20) + cuts), "hour")
    assert (finding.connector, finding.hour, finding.weekday) == ("odoo", 6, None)
    assert (finding.calls, finding.deadlines, finding.share, finding.lift) == (80, 40, 0.5, None)
    assert finding.p_adjusted is not None
    assert finding.p_adjusted < 1e-9
    assert "odoo runs out of time between 06:00 and 07:00 UTC: 50 % of 80 calls" in finding.sentence
    assert "on 20 of 20 days" in finding.sentence
    assert finding.next_step


def test_one_outage_is_one_outage_and_no_pattern(tmp_path: Path) -> None:
    begun = MIDNIGHT + timedelta(days=8, hours=2)
    outage = [cut(begun + timedelta(minutes=minute)) for minute in range(0, 180, 3)]
    report = report_of(tmp_path, spread(20) + outage, tz="Europe/Berlin")
    assert Counter(finding.kind for finding in report.findings) == {"incident": 1}
    [finding] = report.findings
    assert "One outage of odoo on 10 November 2026 between 03:00 and 06:00: 60 of" in finding.sentence


def test_mondays_are_told_as_mondays(tmp_path: Path) -> None:
    cuts = [cut(MIDNIGHT + timedelta(weeks=week, hours=9, minutes=m)) for week in range(8) for m in (3, 13, 23, 33)]
    report = report_of(tmp_path, spread(56) + cuts)
    assert of_kind(report, "hour") == []
    [finding] = of_kind(report, "weekday_hour")
    assert (finding.weekday, finding.hour) == (0, 9)
    assert "on Mondays between 09:00 and 10:00 UTC" in finding.sentence


def test_a_connector_and_a_tool_that_lead_the_others_are_told(tmp_path: Path) -> None:
    good = spread(15, connector="files") + spread(15, connector="odoo") + spread(15, connector="odoo", tool="write")
    cuts = [
        cut(MIDNIGHT + timedelta(days=day, hours=(7 * day + 5 * n) % 24, minutes=9), tool="write")
        for day in range(15)
        for n in range(4)
    ]
    report = report_of(tmp_path, good + cuts)
    [connector], [tool] = of_kind(report, "connector"), of_kind(report, "tool")
    assert (connector.connector, connector.deadlines) == ("odoo", 60)
    assert (tool.connector, tool.tool, tool.deadlines) == ("odoo", "write", 60)
    assert "60 of 60 are write" in connector.sentence


def test_all_connectors_at_once_are_one_cause(tmp_path: Path) -> None:
    names = ("files", "mail", "odoo")
    good = [line for name in names for line in spread(10, connector=name, each=4)]
    begun = MIDNIGHT + timedelta(days=4, hours=13)
    down = [cut(begun + timedelta(minutes=m), name) for name in names for m in range(0, 40, 4)]
    quiet = [line for line in good if not "2026-11-06T13:00" <= line["time"] < "2026-11-06T13:41"]
    report = report_of(tmp_path, quiet + down)
    [finding] = report.findings
    assert (finding.kind, finding.connector, finding.deadlines) == ("common_cause", None, 30)
    assert finding.sentence.startswith("All 3 connectors in use ran out of time together on 6 November 2026")
    assert "on this machine or its network" in finding.next_step


def test_deadlines_long_after_their_limit_look_like_a_sleep(tmp_path: Path) -> None:
    good = [line for name in ("files", "odoo") for line in spread(10, connector=name)]
    begun = MIDNIGHT + timedelta(days=4, hours=1, minutes=2)
    asleep = [cut(begun + timedelta(seconds=n), name, elapsed=20_000.0) for name in ("files", "odoo") for n in range(4)]
    [finding] = of_kind(report_of(tmp_path, good + asleep), "common_cause")
    assert "after their limit, as after a sleep" in finding.sentence


def test_waiting_for_a_lock_is_told_with_its_holder(tmp_path: Path) -> None:
    waiting = [cut(NOON + timedelta(days=n), phase="lock", sent=False, lock_holder="export of odoo") for n in range(6)]
    report = report_of(tmp_path, spread(8) + waiting + [cut(NOON), cut(NOON)])
    [finding] = of_kind(report, "lock")
    assert "6 of 8 deadlines of odoo were spent waiting for a lock" in finding.sentence
    assert "export of odoo held it in 6" in finding.sentence


def test_a_limit_too_short_is_told_with_what_would_have_been_enough(tmp_path: Path) -> None:
    cuts = [cut(NOON + timedelta(hours=7 * n), id=f"late-{n}", limit=30.0) for n in range(20)]
    late = [event("late_response", NOON, id=f"late-{n}", tool="search", delay=0.5 * n, limit=30.0) for n in range(20)]
    [finding] = of_kind(report_of(tmp_path, spread(6) + cuts + late), "limit")
    assert (finding.tool, finding.deadlines) == ("search", 20)
    assert "20 of 20 answers came too late, 95 % of them within 9 s" in finding.sentence
    assert finding.next_step == "A limit of 39 s would have been enough for 95 % of the late answers."


def test_a_dead_server_is_no_short_limit(tmp_path: Path) -> None:
    assert (
        of_kind(report_of(tmp_path, spread(6) + [cut(NOON + timedelta(minutes=n)) for n in range(30)]), "limit") == []
    )


def test_idle_sessions_that_run_out_of_time_are_told(tmp_path: Path) -> None:
    stale = [
        (cut if n % 3 else call)(MIDNIGHT + timedelta(days=day, hours=(5 * day + 7 * n) % 24), idle=1200.0)
        for day in range(14)
        for n in range(6)
    ]
    report = report_of(tmp_path, spread(14) + stale + [call(outcome="disconnected", error_type="session_expired")])
    [finding] = of_kind(report, "stale_session")
    assert "when its idle time before the call is 15 min to 60 min: 67 % of 84 calls" in finding.sentence
    assert "1 call failed with an expired session besides" in finding.sentence


def test_probes_beside_calls_are_told(tmp_path: Path) -> None:
    beside = [
        cut(MIDNIGHT + timedelta(days=day, hours=(5 * day + 7 * n) % 24), keepalive_overlap=True)
        for day in range(20)
        for n in range(3)
    ]
    [finding] = of_kind(report_of(tmp_path, spread(20) + beside), "keepalive")
    assert "while a keepalive probe is open: 100 % of 60 calls" in finding.sentence


def test_unsafe_retries_are_told_even_where_the_call_went_well(tmp_path: Path) -> None:
    again = [call(id="twice", tool="create", retry_unsafe=True), cut(tool="create", retry_unsafe=True)]
    compact = [json.dumps(line, separators=(",", ":")) for line in again]
    late = event("late_response", id="twice", tool="create", delay=1.0, limit=30.0)
    [finding] = of_kind(report_of(tmp_path, [*spread(1), *compact, late]), "retry")
    assert "2 calls to create of odoo were sent again" in finding.sentence
    assert "in 1 the first attempt was answered late, so it was done twice" in finding.sentence


def test_calls_that_never_ended_are_told_and_those_that_did_are_not(tmp_path: Path) -> None:
    waits = [
        event("still_waiting", NOON + timedelta(seconds=age), id=name, tool="open", phase="wait", age=age, limit=limit)
        for name, limit in (("lost", None), ("slow", 600.0))
        for age in (30.0, 60.0)
    ]
    report = report_of(tmp_path, [*spread(1), *waits, call(id="slow", tool="open", elapsed=70.0)])
    [finding] = of_kind(report, "never_ended")
    assert finding.calls == 1
    assert "1 call to open of odoo never ended: last seen waiting after up to 60 s" in finding.sentence.replace(
        "1 min", "60 s"
    )
    assert finding.sentence.endswith(", without any time limit.")


def test_the_same_id_of_another_process_is_another_call(tmp_path: Path) -> None:
    wait = event("still_waiting", id="1", tool="open", phase="wait", age=30.0, limit=None)
    other = {**call(id="1", tool="open"), "instance": "beef"}
    assert len(of_kind(report_of(tmp_path, [wait, other]), "never_ended")) == 1


def test_a_calm_log_has_no_finding(tmp_path: Path) -> None:
    assert report_of(tmp_path, spread(10)).findings == ()


def test_a_log_without_any_call_is_an_empty_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, [event("connect", reason="initial", outcome="ok", elapsed=0.2, generation=1)])
    assert report.to_json()["calls"] == 0
    assert report.findings == ()
