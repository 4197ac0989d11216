"""Call logs written by hand, as the contract has them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from otel_mcp._report.build import report_for
from otel_mcp._report.model import Finding, Report

NOON = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
"""A Monday."""
_serial = itertools.count(1)


def at(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event(kind: str, moment: datetime = NOON, connector: str = "odoo", **fields: Any) -> dict[str, Any]:
    return {
        "schema": 1, "event": kind, "time": at(moment), "service": "agent", "instance": "3f9a", "pid": 7,
        "version": "0.1.0", "connector": connector, "transport": "stdio", **fields,
    }  # fmt: skip


def call(moment: datetime = NOON, connector: str = "odoo", outcome: str = "ok", **fields: Any) -> dict[str, Any]:
    usual = {
        "id": str(next(_serial)), "method": "tools/call", "tool": "search", "outcome": outcome,
        "bucket": outcome if outcome in ("ok", "deadline") else "error",
        "elapsed": 30.0 if outcome == "deadline" else 0.5, "attempts": 1, "limit": 30.0, "limit_source": "sdk",
        "phase": "wait", "sent": True, "session_age": 5.0, "idle": 5.0, "keepalive_overlap": False,
        "retry_unsafe": False,
    }  # fmt: skip
    return event("call", moment, connector, **{**usual, **fields})


def cut(moment: datetime = NOON, connector: str = "odoo", **fields: Any) -> dict[str, Any]:
    return call(moment, connector, "deadline", **fields)


def spread(days: int, hours: Iterable[int] = range(24), each: int = 2, **fields: Any) -> list[dict[str, Any]]:
    """Calls that go through, `each` an hour."""
    midnight = NOON.replace(hour=0)
    return [
        call(midnight + timedelta(days=day, hours=hour, minutes=minute * 60 / each + 1), **fields)
        for day in range(days)
        for hour in hours
        for minute in range(each)
    ]


def write(path: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def report_of(tmp_path: Path, lines: Iterable[dict[str, Any] | str], **options: Any) -> Report:
    return report_for([write(tmp_path / "calls.jsonl", lines)], **options)


def of_kind(report: Report, kind: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.kind == kind]
