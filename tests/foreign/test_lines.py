"""Lines of a call log and pages of an endpoint that anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foreign.drawing import HOSTILE, mostly, names
from foreign.drawing import json as any_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report.report_logs import call, write

from otel_mcp._cli import top
from otel_mcp._cli.top_endpoint import Endpoint
from otel_mcp._cli.top_log import Log
from otel_mcp._cli.top_model import Unreadable
from otel_mcp._ground.catalogue import LOG_COMMON, LOG_EVENTS
from otel_mcp._report import terminal
from otel_mcp._report.build import report_for
from otel_mcp._report.errors import Unreadable as NoLog

FIELDS = sorted({*LOG_COMMON, *(field for fields in LOG_EVENTS.values() for field in fields)})
odd = any_json | names | st.floats() | st.integers()
entries = st.builds(
    lambda usual, wrong: {**call(**usual), **wrong},
    st.fixed_dictionaries({"outcome": st.sampled_from(("ok", "deadline", "error"))}),
    st.dictionaries(st.sampled_from(FIELDS), odd, max_size=4),
)
waiting = st.fixed_dictionaries(
    {"event": st.sampled_from(("still_waiting", "call", "session_end"))},
    optional={field: odd for field in FIELDS if field != "event"},
)
lines = st.lists(
    mostly(entries.map(json.dumps), names | odd.map(json.dumps)).filter(lambda line: "\n" not in line), max_size=12
)
BOUNDED = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def is_one_sentence(error: Exception) -> None:
    assert "\n" not in str(error)
    assert "calls.jsonl" in str(error) or "http://127.0.0.1:1" in str(error)


@BOUNDED
@given(written=lines)
def test_a_report_of_any_lines_is_a_report_or_one_sentence(tmp_path: Path, written: list[str]) -> None:
    path = write(tmp_path / "calls.jsonl", written)
    try:
        report = report_for([path])
    except NoLog as error:
        is_one_sentence(error)
        return
    assert report.skipped_lines <= len(written)
    json.dumps(report.to_json())
    console = terminal.console()
    with console.capture() as shown:
        terminal.show(report, console)
    assert all(line.isprintable() for line in shown.get().splitlines())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(waiting.map(json.dumps) | names | odd.map(json.dumps), max_size=8))
def test_top_shows_what_it_can_of_any_lines_and_nothing_that_moves_the_cursor(
    tmp_path: Path, written: list[str]
) -> None:
    path = write(tmp_path / "calls.jsonl", written)
    try:
        picture = Log(str(path)).look()
    except Unreadable as error:
        is_one_sentence(error)
        return
    assert all(line.isprintable() for line in top.render(picture).splitlines())
    json.dumps(picture.to_json())


samples = st.sampled_from(
    (
        'otel_mcp_client_call_oldest_age_seconds{otel_mcp_connector="a",otel_mcp_phase="wait"} 3',
        "otel_mcp_client_call_oldest_age_seconds NaN",
        "otel_mcp_client_call_oldest_age_seconds 3",
        'otel_mcp_client_request_active{otel_mcp_connector="\\n"} +Inf',
        'otel_mcp_client_request_oldest_age_seconds{otel_mcp_connector="\x1b[31m"} 1',
        "otel_mcp_client_connector_state 1",
        "# TYPE otel_mcp_client_limit_seconds histogram",
        "{} 1",
        "x{",
    )
) | st.text(max_size=40)


@settings(max_examples=100, deadline=None)
@given(page=st.lists(samples, max_size=6).map("\n".join))
def test_top_takes_any_page_for_metrics_or_says_in_one_sentence_that_it_is_none(page: str) -> None:
    class Served(Endpoint):
        def _fetch(self) -> str:
            return page

    try:
        picture = Served("http://127.0.0.1:1").look()
    except Unreadable as error:
        is_one_sentence(error)
        return
    assert all(line.isprintable() for line in top.render(picture).splitlines())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_by_top_on_one_line(tmp_path: Path, name: str) -> None:
    entry: dict[str, Any] = {
        **call(),
        "event": "still_waiting",
        "connector": name,
        "tool": name,
        "held_by": name,
        "age": 3.0,
    }
    text = top.render(Log(str(write(tmp_path / "calls.jsonl", [entry]))).look())
    assert len(text.splitlines()) == 3
    assert text.replace("\n", "").isprintable()
