"""Time zones, and the moments a user may name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from otel_mcp._report.errors import BadOption
from otel_mcp._report.statistics import Ints

SLOT: Final = 300
"""Seconds. Calls are counted in slots of five minutes: short enough to tell one outage from another, and every time
zone in use is a multiple of fifteen minutes off UTC, so that a slot never straddles two local hours."""

_AGO: Final = re.compile(r"(\d+)\s*([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_QUARTER: Final = 900 // SLOT


def zone(name: str) -> tzinfo:
    """The time zone of that IANA name; `BadOption` if there is none."""
    if name.upper() in {"UTC", "Z"}:
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadOption(
            f"--tz {name!r} is no time zone known here; use an IANA name such as Europe/Berlin"
            " (on systems without a time zone database: pip install tzdata)"
        ) from None


def moment(option: str, text: str, tz: tzinfo, now: datetime) -> datetime:
    """A moment named by a user: ISO 8601 (local to `tz` unless it says otherwise), or `7d`, `24h`, `30m` ago."""
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        named = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        return (named if named.tzinfo else named.replace(tzinfo=tz)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise BadOption(
            f"{option} {text!r} is no moment; use 2026-11-03, 2026-11-03T06:00, or 7d, 24h, 30m for that long ago"
        ) from None


@dataclass(frozen=True)
class Local:
    """Slots in local time, one entry a slot."""

    day: Ints
    """Ordinal of the local date."""
    hour: Ints
    weekday: Ints


def local(slots: Ints, tz: tzinfo) -> Local:
    """Local date, hour and weekday of slots of `SLOT` seconds since 1970 in UTC."""
    quarters, place = np.unique(slots // _QUARTER, return_inverse=True)
    moments = [datetime.fromtimestamp(int(quarter) * 900, tz) for quarter in quarters]
    days = np.fromiter((m.toordinal() for m in moments), dtype=np.int64, count=len(moments))
    hours = np.fromiter((m.hour for m in moments), dtype=np.int64, count=len(moments))
    return Local(days[place], hours[place], (days[place] + 6) % 7)


def at(slot: int) -> datetime:
    """The beginning of a slot, in UTC."""
    return datetime.fromtimestamp(slot * SLOT, timezone.utc)
