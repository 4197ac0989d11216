"""`otel-mcp report`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from otel_mcp._ground.commands import write_no_more
from otel_mcp._report.errors import BadOption, MissingExtra, ReportError

if TYPE_CHECKING:
    from otel_mcp._report.conditions import Condition
    from otel_mcp._report.model import Report

_NAME = "otel-mcp report"
EXIT_FINE, EXIT_FOUND, EXIT_UNREADABLE = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.description = "Read call logs: where do deadlines gather, is it more than chance, and why?"
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="call logs, plain or gzip, or globs (default: OTEL_MCP_CALL_LOG)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as one page that needs no network")
    parser.add_argument("--tz", metavar="ZONE", default="UTC", help="time zone of the hours, e.g. Europe/Berlin (UTC)")
    parser.add_argument("--since", metavar="WHEN", help="count calls that ended from then on: 2026-11-03, 7d, 24h")
    parser.add_argument("--until", metavar="WHEN", help="count calls that ended before")
    parser.add_argument(
        "--fail-on", metavar="CONDITION", action="append", default=[],
        help="end with 1 if it holds: deadlines=2%%, connector_deadlines=5%%, skipped_lines=0, findings, hour, …",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Make the report and print or write it. 0: fine; 1: a `--fail-on` condition holds; 2: no report."""
    try:
        return _run(arguments)
    except ReportError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _complain("interrupted")


def _complain(sentence: str) -> int:
    print(sentence if sentence.startswith(_NAME) else f"{_NAME}: {sentence}", file=sys.stderr)
    return EXIT_UNREADABLE


def _run(arguments: argparse.Namespace) -> int:
    try:
        from otel_mcp._report import build, clock, conditions, files, page, terminal
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("otel_mcp"):
            raise
        raise MissingExtra from None
    zone, now = clock.zone(arguments.tz), datetime.now(timezone.utc)
    since = clock.moment("--since", arguments.since, zone, now) if arguments.since else None
    until = clock.moment("--until", arguments.until, zone, now) if arguments.until else None
    if since and until and since >= until:
        raise BadOption(f"--since {arguments.since} is not before --until {arguments.until}; no call can lie between")
    tests = conditions.parse(arguments.fail_on)
    html = _page(arguments.html) if arguments.html is not None else None
    logs = files.named(arguments.files, os.environ)
    if html and html.exists() and any(html.samefile(log) for log in files.find(logs).files):
        raise BadOption(f"--html {html} is a call log that is to be read, and would be lost; name another file")
    report = build.report_for(logs, tz=arguments.tz, since=since, until=until, progress=sys.stderr.isatty())
    for sentence in report.complaints:
        print(f"otel-mcp report: {sentence}", file=sys.stderr)
    if html:
        _write(html, page.render(report))
    try:
        if arguments.json:
            print(json.dumps(report.to_json(), indent=2, ensure_ascii=False), flush=True)
        elif not html:
            terminal.show(report, terminal.console())
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): no fault, and what was asked of the calls has its answer yet.
        write_no_more()
    return _judge(report, tests)


def _judge(report: Report, tests: list[Condition]) -> int:
    met = [condition.text for condition in tests if condition.met_by(report)]
    for text in met:
        print(f"otel-mcp report: --fail-on {text}: holds", file=sys.stderr)
    return EXIT_FOUND if met else EXIT_FINE


def _page(given: str) -> Path:
    path = Path(given)
    if not given.strip():
        raise BadOption(f"--html {given!r} names no file; name one, for example --html report.html")
    if path.is_dir():
        raise BadOption(f"--html {given} is a folder; name a file in it, for example {path / 'report.html'}")
    return path


def _write(path: Path, text: str) -> None:
    # Whole or not at all: a half-written page would look like a report.
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):  # the same error again, where the folder is none
            unfinished.unlink()
        raise BadOption(f"--html {path} cannot be written: {(error.strerror or str(error)).lower()}") from None
