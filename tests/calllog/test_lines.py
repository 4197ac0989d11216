"""One event as one line: what stands in it, and what gives way when it would be too long."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_mcp._ground.catalogue import LOG_COMMON, MAX_LOG_LINE
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._record.lines import encode, rfc3339

COMMON = {"service": "agent", "instance": "0123", "pid": 42, "version": "9.9"}
NOON = 1_796_040_000_000_000_000


def line(fields, event="call", connector="odoo", transport="stdio"):
    encoded = encode(event, NOON, connector, transport, COMMON, fields)
    assert encoded.endswith(b"\n")
    assert encoded.count(b"\n") == 1
    return encoded, json.loads(encoded)


def test_a_line_begins_with_the_common_fields_in_the_order_of_the_contract():
    _, record = line({"id": "1"})
    assert tuple(record)[: len(LOG_COMMON)] == LOG_COMMON
    assert record == {
        "schema": 1, "event": "call", "time": "2026-11-30T12:00:00.000Z", "service": "agent", "instance": "0123",
        "pid": 42, "version": "9.9", "connector": "odoo", "transport": "stdio", "id": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "1970-01-01T00:00:00.000Z"), (1_999_999_999, "1970-01-01T00:00:01.999Z"), (NOON, "2026-11-30T12:00:00.000Z")],
)
def test_a_time_is_utc_cut_to_the_millisecond(nanoseconds, text):
    assert rfc3339(nanoseconds) == text


def test_fields_may_be_a_function_that_is_called_when_the_line_is_made():
    assert line(lambda: {"outcome": Outcome.TOOL_ERROR})[1]["outcome"] == "tool_error"


def test_numbers_that_json_does_not_have_become_null():
    _, record = line(
        {"age": math.inf, "limit": math.nan, "elapsed": 1.23456789, "sent": True, "limits": {"sdk": math.inf}}
    )
    assert (record["age"], record["limit"], record["elapsed"], record["sent"]) == (None, None, 1.234568, True)
    assert record["limits"] == {"sdk": None}


def test_an_object_that_json_does_not_have_is_said_as_text():
    assert line({"blocked_at": ValueError("x")})[1]["blocked_at"] == "x"


def test_a_lone_surrogate_from_a_broken_peer_becomes_the_text_of_its_escape():
    assert line({"tool": "bad\udc80name", "phase": "\ud83d"})[1]["tool"] == "bad\\udc80name"


def test_the_longest_text_gives_way_and_says_so():
    encoded, record = line({"id": "17", "tool": "t" * 9000, "lock_holder": "h" * 300})
    assert len(encoded) <= MAX_LOG_LINE
    assert record["tool"].endswith("t…")
    assert len(encoded) > MAX_LOG_LINE - 100, "no more was cut than needed"
    assert (record["id"], record["lock_holder"]) == ("17", "h" * 300)


def test_a_list_loses_its_tail_when_no_text_is_left_to_shorten():
    encoded, record = line({"attempt_outcomes": ["deadline"] * 2000})
    assert len(encoded) <= MAX_LOG_LINE
    assert set(record["attempt_outcomes"]) == {"deadline"}


def test_fields_that_nothing_else_shortens_are_left_out_and_the_common_ones_stay():
    encoded, record = line({f"field_{number:04}": 10**15 for number in range(400)})
    assert len(encoded) <= MAX_LOG_LINE
    assert record["connector"] == "odoo"


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3000),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=50), inner, max_size=30),
    max_leaves=40,
)


@given(
    fields=st.dictionaries(st.sampled_from(["id", "tool", "limits", "attempts", "cause"]), json_like), name=st.text()
)
def test_whatever_the_fields_are_a_line_is_one_json_object_that_fits(fields, name):
    encoded = encode("call", NOON, name[:200], None, COMMON, fields)
    record = json.loads(encoded)
    assert len(encoded) <= MAX_LOG_LINE
    assert encoded.count(b"\n") == 1
    assert record["event"] == "call"
