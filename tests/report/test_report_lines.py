"""Odd lines: the engine counts them as plain Python does, line by line."""

from __future__ import annotations

import bisect
import json
import math
import random
import tempfile
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from report.report_logs import NOON, at, call, cut, event, of_kind, report_of, spread

from otel_mcp._report import files
from otel_mcp._report.clock import SLOT
from otel_mcp._report.engine import CallLog
from otel_mcp._report.queries import IDLES

Places = dict[tuple[str, str, int], tuple[int, int]]
"""Connector, tool and slot → calls and deadlines."""

# A name that is a number of more than 64 bits is a float to the engine, and none to anybody else.
names = st.one_of(
    st.text(max_size=12),
    st.sampled_from(['"quoted"', "back\\slash", "new\nline", "größe", "\U0001f600", "a,b", '","tool":"x', "{}", " "]),
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.just([1, "b"]), st.just({"tool": "nested"}),
)  # fmt: skip
numbers = st.one_of(
    st.none(), st.integers(0, 10**6), st.floats(0, 1e6).map(lambda value: round(value, 3)),
    st.sampled_from([-0.0, -1, 1e3, 1e-7, 1e300, 10**40, math.nan, math.inf, -math.inf, "soon", "", [], {"s": 1}]),
)  # fmt: skip
times = st.one_of(
    st.integers(0, 10**9).map(lambda ms: at(NOON + timedelta(milliseconds=ms))),
    st.sampled_from(["2026-11-02T14:30:00+02:00", "2026-11-02T12:00:00.123456Z", "yesterday", "", None, [], "9999"]),
)
ODD = {
    "event": st.sampled_from(["call", "call", "connect", "weather", 5, None]),
    "time": times, "connector": names, "tool": names, "method": names, "elapsed": numbers, "idle": numbers,
    "outcome": st.sampled_from(["ok", "deadline", "deadline", "error", "rejected", None, 7]),
    "note": st.recursive(names, lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5),
}  # fmt: skip


@st.composite
def odd_lines(draw: st.DrawFn) -> str:
    """A line of our writer with some fields replaced, left out, moved, said twice; written in another way; or torn."""
    line: dict[str, Any] = {**call(), **draw(st.fixed_dictionaries({}, optional=ODD))}
    for name in draw(st.lists(st.sampled_from(sorted(line)), max_size=2)):
        line.pop(name, None)
    pairs = list(line.items())
    if draw(st.booleans()):
        random.Random(draw(st.integers())).shuffle(pairs)
    # The second of two fields of one name counts for nothing.
    again = draw(st.lists(st.sampled_from(sorted(line.keys() & ODD)), max_size=1))
    pairs += [(name, draw(ODD[name])) for name in again]
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    plain = draw(st.booleans())
    dump = json.JSONEncoder(ensure_ascii=plain, separators=(comma, colon)).encode
    text = "{" + comma.join(f"{dump(name)}{colon}{dump(value)}" for name, value in pairs) + "}"
    return text[: draw(st.sampled_from([None, None, None, 300, -1, 1]))]


def first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def as_number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def as_time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (AttributeError, ValueError):
        return None


def counted_plainly(lines: list[str]) -> tuple[int, Places, Counter[int]]:
    """Lines of a call log, calls by place, and calls by band of idle time."""
    ours, calls, deadlines, idles = 0, Counter[Any](), Counter[Any](), Counter[int]()
    for text in lines:
        try:
            line = json.loads(text, object_pairs_hook=first_of_each)
        except ValueError:
            continue
        time = as_time(line.get("time")) if isinstance(line, dict) else None
        if time is None or line.get("event") is None:
            continue
        ours += 1
        if line["event"] != "call" or line.get("outcome") is None:
            continue
        elapsed, idle = as_number(line.get("elapsed")), as_number(line.get("idle"))
        ended = time.timestamp() + (elapsed if elapsed is not None and 0 <= elapsed <= 1e9 else 0)
        connector = as_text(line.get("connector"))
        tool = next((name for key in ("tool", "method") if (name := as_text(line.get(key))) is not None), "")
        place = "unknown" if connector is None else connector, tool, int((ended + 0.0001) // SLOT)
        calls[place] += 1
        deadlines[place] += line["outcome"] == "deadline"
        if idle is not None:
            # To the engine NaN is larger than any number.
            idles[len(IDLES) if math.isnan(idle) else bisect.bisect_right(IDLES, idle)] += 1
    return ours, {place: (calls[place], deadlines[place]) for place in calls}, idles


@settings(max_examples=25, deadline=None)
@given(st.lists(odd_lines(), min_size=1, max_size=40))
def test_odd_lines_are_counted_as_plain_python_counts_them(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.jsonl"
        path.write_text("".join(line + "\n" for line in [*lines, json.dumps(call(idle=None))]), encoding="utf-8")
        ours, places, idles = counted_plainly(path.read_text(encoding="utf-8").split("\n"))
        with CallLog(files.find([path])) as log:
            read = log.read()
            slots = log.rows("SELECT connector, tool, slot, calls, deadlines FROM slots")
            bands = log.rows("SELECT idle_band, sum(calls)::BIGINT FROM bands WHERE idle_band IS NOT NULL GROUP BY ALL")
    assert (read.all, read.ours) == (len(lines) + 1, ours)
    assert {(connector, tool, slot): counts for connector, tool, slot, *counts in slots} == {
        place: list(counts) for place, counts in places.items()
    }
    assert dict(bands) == dict(idles)


def test_lines_that_say_the_same_are_as_many_calls(tmp_path: Path) -> None:
    same = cut(id="1", tool="create", retry_unsafe=True)
    report = report_of(tmp_path, [*spread(1), same, same, same])
    [finding] = of_kind(report, "retry")
    assert (finding.calls, report.total.deadlines) == (3, 3)


def test_a_call_that_was_soon_reported_as_waiting_and_soon_ended_did_end(tmp_path: Path) -> None:
    waits = [event("still_waiting", id=name, tool="open", phase="wait", age=1.0) for name in ("lost", "slow")]
    report = report_of(tmp_path, [*spread(1), *waits, call(id="slow", tool="open", elapsed=1.2)])
    [finding] = of_kind(report, "never_ended")
    assert finding.calls == 1
