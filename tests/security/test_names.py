"""Names that servers and callers choose, on their way to an endpoint, a log and a terminal."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from foreign.drawing import HOSTILE, SECRET

from harness.children import run_script
from harness.collector import Collector
from harness.metrics import Scrape
from harness.package import environment, path_entry
from otel_mcp._ground import catalogue as c
from otel_mcp._observe import waiting
from otel_mcp._start import notices

TESTS = Path(__file__).resolve().parents[1]
MEGABYTE = "x" * 1_000_000

# A server in this program that has tools of these names, and says of itself that it is called so.
PROGRAM = """
import asyncio, json, sys, urllib.request
import otel_mcp
otel_mcp.instrument()
from mcp import ClientSession
from otel_mcp._start import runtime
from stress.peer import connected

async def main(names):
    for name in names:
        async with connected("ok", name) as streams, ClientSession(*streams) as session:
            await session.initialize()
            await session.call_tool(name, {"key": "s3cret"})
            try:
                await session.get_prompt("lone \\udc80 surrogate", {"key": "s3cret"})
            except Exception:
                pass

names = json.loads(sys.stdin.read())
asyncio.run(main(names))
endpoint = runtime.in_force()["endpoint"]
with urllib.request.urlopen(f"http://{endpoint}/metrics") as answer:
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    sys.stdout.buffer.write(answer.read())
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scrape, list[str]]:
    """A real scrape of a program whose servers have hostile names, and the spans that a collector got of it."""
    collector = Collector(tmp_path_factory.mktemp("names"), "ok")
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([*HOSTILE, MEGABYTE]),
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
            env=environment(
                PYTHONPATH=":".join([str(TESTS), *path_entry().values()]),
                OTEL_EXPORTER_PROMETHEUS_PORT="0",
                OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.endpoint}/v1/traces",
            ),
        )
        assert done.returncode == 0, done.stderr
        return Scrape(done.stdout), collector.names("traces")
    finally:
        collector.stop()


def test_no_name_adds_a_line_to_the_endpoints_page_or_a_label_to_a_line(page: tuple[Scrape, list[str]]) -> None:
    scraped, _ = page
    lines = scraped.text.splitlines()
    assert all(line.startswith(("# HELP ", "# TYPE ", "otel_mcp_", "mcp_", "target_info{")) for line in lines)
    ours = {key.replace(".", "_") for row in c.INSTRUMENTS for key in row.keys}
    named = [point for point in scraped.points if point.name != "target_info"]
    assert {label for point in named for label in point.labels} <= {*ours, "le"}


def test_every_label_on_the_page_is_printable_and_at_most_200_characters(page: tuple[Scrape, list[str]]) -> None:
    scraped, _ = page
    values = {value for point in scraped.points for value in point.labels.values()}
    assert all(value.isprintable() and len(value) <= 200 for value in values)
    assert any("\\u000a" in value for value in values), "a tool's line break is spelled out"
    assert len(scraped.text) < 3_000_000


def test_a_name_that_has_no_utf_8_form_costs_no_batch_of_spans(page: tuple[Scrape, list[str]]) -> None:
    _, spans = page
    assert len([name for name in spans if name.startswith("tools/call")]) == len(HOSTILE) + 1
    assert len([name for name in spans if name.startswith("prompts/get")]) == len(HOSTILE) + 1


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_begins_a_line_of_its_own_in_the_programs_log(name: str) -> None:
    fields = {"method": name, "tool": name, "age": 31.0, "limit": None, "limit_source": None, "phase": "wait"}
    fields |= {"retired": False, "lock_holder": name, "held_by": name, "loop_blocked": True, "blocked_at": None}
    assert waiting.sentence("odoo", fields).isprintable()


def test_what_is_said_on_stderr_is_one_line_whatever_is_in_it(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "otel_mcp"):
        notices.say(f"port {HOSTILE[2]} is taken")
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_header_values_are_said_nowhere_when_an_export_fails_because_of_them() -> None:
    done = run_script(
        "from otel_mcp._start import runtime\nruntime.ensure_started()\n"
        "from otel_mcp._record.recorder import recorder\nrecorder.tracer.start_span('x').end()\n",
        env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{SECRET}%0A",
            "OTEL_METRICS_EXPORTER": "none",
        },
    )
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stderr + done.stdout
