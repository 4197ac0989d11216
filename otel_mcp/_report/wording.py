"""Findings in words: each one sentence with its numbers, and the next step."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

from otel_mcp._report import clock
from otel_mcp._report.causes import Limit, Lock, NeverEnded, Retry, Share
from otel_mcp._report.clusters import Cluster
from otel_mcp._report.groups import span
from otel_mcp._report.incidents import Run, Shared
from otel_mcp._report.model import Finding
from otel_mcp._report.statistics import interval

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

NO_FINDING: Final = "No finding: deadlines lean to no connector, tool or time more than chance allows."

_NEXT_BY_PHASE: Final = {
    "lock": "They waited for a lock on our side: see what holds it then, and allow the connector more sessions.",
    "connect": "They were spent connecting: see what restarts the server or drops its sessions then.",
    "write": "The message could not be sent: see whether the server's process reads its input then.",
    "validate": "The SDK was listing tools after the answer: list them once at the start of the session.",
    "backoff": "They were spent between attempts: allow fewer attempts, or a longer limit for the whole.",
}


def percent(share: float | None) -> str:
    """A share for people: 12 %, 4.2 %, 0.03 %."""
    if share is None:
        return "–"
    return f"{share * 100:.2g} %" if share < 0.1 else f"{share * 100:.0f} %"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _of_them(part: int, calls: int) -> str:
    return "" if part == calls == 1 else f"{part:,} of them "


def _times(lift: float) -> str:
    return f"{lift:.0f}" if lift >= 10 else f"{lift:.2g}"


def _p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def cluster(found: Cluster, tz: str, phase: Share | None, tool: Share | None, expired: int) -> Finding:
    """The sentence of a claimed cluster, with what most of its deadlines have in common."""
    low, high = interval(found.counts.deadlines, found.counts.base)
    numbers = (
        f"{percent(found.counts.share)} of {found.counts.base:,} calls"
        f" ({percent(low)} to {percent(high)}) against {percent(found.rest.share)} {_elsewhere(found)}"
    )
    if found.lift:
        numbers += f", {_times(found.lift)} times as many"
    proof = f"on {found.strata} of {counted(found.days, 'day')}, {_p(found.p_adjusted)}"
    sentence = f"{_where(found, tz)} {numbers} ({proof})."
    if tool and found.tool is None:
        sentence = sentence[:-1] + f"; {tool.number:,} of {tool.of:,} are {tool.value}."
    if expired and found.kind == "stale_session":
        sentence = sentence[:-1] + f"; {counted(expired, 'call')} failed with an expired session besides."
    return Finding(
        found.kind, sentence, _next(found, phase), found.connector, found.tool, found.hour, found.weekday,
        found.counts.calls, found.counts.deadlines, found.counts.share, found.lift, found.p_adjusted,
    )  # fmt: skip


def _where(found: Cluster, tz: str) -> str:
    name = found.connector
    if found.kind == "hour":
        return f"{name} runs out of time between {found.hour:02}:00 and {_end(found.hour)} {tz}:"
    if found.kind == "weekday_hour":
        return f"{name} runs out of time on {_weekday(found)}s between {found.hour:02}:00 and {_end(found.hour)} {tz}:"
    if found.kind == "tool":
        return f"{found.tool} of {name} runs out of time more than its other tools:"
    if found.kind == "stale_session":
        return f"{name} runs out of time when {found.measure} is {found.band}:"
    if found.kind == "keepalive":
        return f"{name} runs out of time while a keepalive probe is open:"
    return f"{name} runs out of time more than the other connectors:"


def _end(hour: int | None) -> str:
    return f"{((hour or 0) + 1) % 24:02}:00"


def _weekday(found: Cluster) -> str:
    return WEEKDAYS[found.weekday or 0]


def _elsewhere(found: Cluster) -> str:
    return {
        "hour": "at other times", "weekday_hour": "at other times", "tool": "in its other tools",
        "connector": "in all others", "keepalive": "without one",
    }.get(found.kind, "otherwise")  # fmt: skip


def _next(found: Cluster, phase: Share | None) -> str:
    if found.kind == "stale_session":
        return "Reconnect or send a keepalive before the session is that old or idle; see what drops it on the way."
    if found.kind == "keepalive":
        return "Do not probe while a call is open, and run probe and calls through one lock."
    if phase and phase.value in _NEXT_BY_PHASE:
        return _NEXT_BY_PHASE[phase.value]
    if found.kind in ("hour", "weekday_hour"):
        return "See what else runs on that server then (backup, batch job, restart), or call it at another hour."
    if found.kind == "tool":
        return "Give this tool a limit of its own, or have it do less in one call."
    return "Look at this server first: the others show that the network and this machine are well."


def lock(found: Lock) -> Finding:
    share = found.waiting / found.deadlines
    sentence = (
        f"{found.waiting:,} of {counted(found.deadlines, 'deadline')} of {found.connector} were spent waiting for"
        " a lock on our side, so the server never saw them"
    )
    if found.holder:
        sentence += f"; {found.holder} held it in {found.held:,}"
    return Finding(
        "lock", sentence + ".", "Shorten what holds the lock, or give the slow calls a session of their own.",
        found.connector, calls=found.deadlines, deadlines=found.waiting, share=share,
    )  # fmt: skip


def limit(found: Limit) -> Finding:
    share = found.deadlines / found.calls
    sentence = (
        f"The limit of {span(found.limit)}{f' ({found.source})' if found.source else ''} cuts off {percent(share)} of"
        f" {counted(found.calls, 'call')} to {found.tool} of {found.connector}"
    )
    if found.p95 is not None:
        sentence += f"; 95 % of those that got through took up to {span(found.p95)}"
    enough = found.limit * 2
    if found.late and found.delay is not None:
        enough = found.limit + found.delay
        sentence += (
            f"; {found.late:,} of {found.deadlines:,} answers came too late, 95 % of them within {span(found.delay)}"
        )
        step = f"A limit of {span(enough)} would have been enough for 95 % of the late answers."
    else:
        step = f"Try a limit of {span(enough)}, or have the tool do less in one call."
    return Finding(
        "limit", sentence + ".", step, found.connector, found.tool, calls=found.calls, deadlines=found.deadlines,
        share=share,
    )  # fmt: skip


def retry(found: Retry) -> Finding:
    sentence = (
        f"{counted(found.calls, 'call')} to {found.tool} of {found.connector} "
        f"{'was' if found.calls == 1 else 'were'} sent again after an attempt that had no answer,"
        " though nothing says that is safe"
    )
    if found.late:
        sentence += f"; in {found.late:,} the first attempt was answered late, so it was done twice"
    return Finding(
        "retry", sentence + ".", "Look for duplicates; mark the tool readOnlyHint, or send an idempotency key.",
        found.connector, found.tool, calls=found.calls, deadlines=found.deadlines,
    )  # fmt: skip


def never_ended(found: NeverEnded) -> Finding:
    sentence = (
        f"{counted(found.calls, 'call')} to {found.tool} of {found.connector} never ended:"
        f" last seen waiting after up to {span(found.oldest)}"
    )
    if found.without_limit:
        sentence += f", {_of_them(found.without_limit, found.calls)}without any time limit"
    if found.retired:
        sentence += f", {_of_them(found.retired, found.calls)}on a session that had been replaced"
    return Finding(
        "never_ended", sentence + ".",
        "Set a time limit on these calls; if the program was killed, see how long it had waited by then.",
        found.connector, found.tool, calls=found.calls,
    )  # fmt: skip


def incident(found: Run, of: int, tz: tzinfo) -> Finding:
    sentence = (
        f"One outage of {found.connector} {_when(found.first, found.last, tz)}: {found.deadlines:,} of"
        f" {counted(found.base, 'call')} ran out of time"
    )
    if of > 1:
        sentence += f"; it is the largest of {of}"
    return Finding(
        "incident", sentence + ".", "Look at that server's log and deployments at that time; it is no pattern.",
        found.connector, calls=found.base, deadlines=found.deadlines, share=found.deadlines / found.base,
        p_adjusted=found.p_value,
    )  # fmt: skip


def common_cause(found: Shared, overrun: float | None, tz: tzinfo) -> Finding:
    base, deadlines = sum(run.base for run in found.runs), sum(run.deadlines for run in found.runs)
    failed = len({run.connector for run in found.runs})
    who = "All" if failed == found.in_use else f"{failed} of"
    sentence = (
        f"{who} {found.in_use} connectors in use ran out of time together {_when(found.first, found.last, tz)}:"
        f" {deadlines:,} of {counted(base, 'call')}"
    )
    step = "The cause is on this machine or its network, not in a server: look for a lost network, DNS or a proxy then."
    if overrun is not None and overrun > 60:
        sentence += f", and ended {span(overrun)} after their limit, as after a sleep"
        step = "The machine was asleep or stopped: keep it awake during runs, or start them after it wakes."
    return Finding(
        "common_cause", sentence + ".", step, calls=base, deadlines=deadlines, share=deadlines / base,
        p_adjusted=min(run.p_value for run in found.runs),
    )  # fmt: skip


def _when(first: int, last: int, tz: tzinfo) -> str:
    begin, end = (clock.at(slot).astimezone(tz) for slot in (first, last + 1))
    if begin.date() == end.date():
        return f"on {_date(begin)} between {begin:%H:%M} and {end:%H:%M}"
    return f"from {_date(begin)} {begin:%H:%M} to {_date(end)} {end:%H:%M}"


def _date(moment: datetime) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"
