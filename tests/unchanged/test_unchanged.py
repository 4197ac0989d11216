"""A program that knows nothing of us runs the same, however it is started, and each of its calls is seen once."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.metrics import Scrape, scrape
from harness.package import environment
from harness.real_parts import free_port
from harness.servers import Fault, servers_in
from harness.waiting import wait_for
from harness.wrong_values import TOGETHER, lines, values
from unchanged.ways import ON, WAYS, entry_point, plain, start_file

HERE = Path(__file__).parent
PLAIN, OWN, WRONG = "plain", "its own providers", "every value wrong and no collector"
ORDINARY = Counter(ok=9, tool_error=1, error=3, deadline=2, cancelled=1)
"""Outcomes of the calls that the program makes to each of its two servers."""
FATAL = Counter(disconnected=2, rejected=1)
NO_COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
WRONG_VALUES = {**values(TOGETHER), **NO_COLLECTOR, **ON}


@dataclass
class Run:
    """A program that has come to its end and still lives, waiting for its standard input."""

    process: subprocess.Popen[str]
    folder: Path
    port: int
    scraped: Scrape | None = None

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def calls(self) -> list[dict[str, Any]]:
        return events(read_jsonl(self.folder / "calls.jsonl"), "call")

    def has_ended(self) -> bool:
        return self.out.endswith("end\n") or self.process.poll() is not None


def start(command: list[str], folder: Path, variables: dict[str, str]) -> Run:
    folder.mkdir()
    port = free_port()
    ours = {
        "OTEL_MCP_CALL_LOG": str(folder / "calls.jsonl"),
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(port),
        "PYTHONWARNINGS": "ignore",
    }
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True, env=environment(**{**ours, **variables})
        )
    return Run(process, folder, port)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """Every way at once, because each of them waits more than it works."""
    folder = tmp_path_factory.mktemp("unchanged")
    with servers_in(folder) as servers:
        stdio, good, bad = servers.stdio(), servers.http(), servers.http(Fault("status", 503, tool="progress"))
        config = folder / "config.json"
        target = stdio.target
        config.write_text(
            json.dumps({"command": target.command, "args": target.args, "env": target.env,
                        "url": good.target, "bad_url": bad.target})
        )  # fmt: skip
        program = [str(HERE / "program.py"), str(config)]
        own = [str(HERE / "own_providers.py"), str(config), str(folder / "got.json")]
        found = entry_point(folder / "metadata")
        started = {PLAIN: start(plain(program), folder / "plain", {})}
        for number, (way, (command, variables)) in enumerate(WAYS.items()):
            started[way] = start(command(program), folder / f"way-{number}", {**found, **variables})
        started[OWN] = start(start_file(own), folder / "own", {**found, **ON})
        started[WRONG] = start(start_file(program), folder / "wrong", {**found, **WRONG_VALUES})
        try:
            for way, run in started.items():
                wait_for(run.has_ended, timeout=LONG_ENOUGH)
                if way in WAYS and run.process.poll() is None:
                    run.scraped = scrape(run.port)
            for run in started.values():
                run.process.communicate(timeout=LONG_ENOUGH)
            yield started
        finally:
            for run in started.values():
                run.process.kill()
                run.process.communicate()


@pytest.mark.parametrize("way", [*WAYS, OWN, WRONG])
def test_the_program_prints_the_same_in_the_same_order(runs: dict[str, Run], way: str) -> None:
    assert runs[PLAIN].out.endswith("end\n"), runs[PLAIN].err
    assert runs[way].out == runs[PLAIN].out, runs[way].err


@pytest.mark.parametrize("way", [*WAYS, OWN])
def test_it_ends_as_it_did_and_nothing_more_is_on_its_stderr(runs: dict[str, Run], way: str) -> None:
    assert (runs[way].process.returncode, runs[way].err) == (0, runs[PLAIN].err)


def test_wrong_values_cost_it_lines_on_its_stderr_and_nothing_else(runs: dict[str, Run]) -> None:
    said = runs[WRONG].err.splitlines()
    assert runs[WRONG].process.returncode == 0
    assert [line for line in said if not line.startswith("otel_mcp: ")] == []
    expected = {line for line in lines(TOGETHER) if "OTEL_MCP_ENABLED" not in line and "#" not in line}
    assert {f"otel_mcp: {line}" for line in expected} <= set(said)
    assert len([line for line in said if "cannot be sent to http://127.0.0.1:9/" in line]) == 3


@pytest.mark.parametrize("way", [*WAYS, OWN])
def test_every_call_is_in_the_call_log_once(runs: dict[str, Run], way: str) -> None:
    calls = runs[way].calls
    stdio, http = ([call for call in calls if call["transport"] == each] for each in ("stdio", "http"))
    assert Counter(call["outcome"] for call in calls) == ORDINARY + ORDINARY + FATAL
    assert Counter(call["outcome"] for call in stdio) == ORDINARY + Counter(disconnected=1, rejected=1)
    assert Counter(call["outcome"] for call in http) == ORDINARY + Counter(disconnected=1)
    assert Counter(call["method"] for call in calls) == {"tools/call": 31, "resources/read": 2, "prompts/get": 2}
    assert len({call["id"] for call in calls}) == len(calls)


def test_the_plain_program_is_not_watched(runs: dict[str, Run]) -> None:
    assert runs[PLAIN].calls == []


@pytest.mark.parametrize("way", WAYS)
def test_the_endpoint_counts_what_the_call_log_has(runs: dict[str, Run], way: str) -> None:
    scraped = runs[way].scraped
    assert scraped is not None, runs[way].err
    counted = {
        outcome: int(scraped.total("otel_mcp_client_calls_total", otel_mcp_outcome=outcome)) for outcome in OUTCOMES
    }
    assert counted == {**dict.fromkeys(OUTCOMES, 0), **(ORDINARY + ORDINARY + FATAL)}
    assert scraped.total("otel_mcp_internal_errors_total") == 0


OUTCOMES = ("ok", "tool_error", "error", "deadline", "cancelled", "disconnected", "orphaned", "rejected")


@pytest.fixture(scope="module")
def got(runs: dict[str, Run]) -> dict[str, Any]:
    """What the program's own providers got."""
    parsed: dict[str, Any] = json.loads((runs[OWN].folder.parent / "got.json").read_text())
    return parsed


def test_providers_that_the_program_sets_later_stay_its_own(got: dict[str, Any]) -> None:
    assert got["kept"] is True


def test_its_tracer_provider_gets_one_client_span_a_request(got: dict[str, Any], runs: dict[str, Run]) -> None:
    client = [span for span in got["spans"] if span["kind"] == "CLIENT"]
    assert [span["name"] for span in client if span["name"].startswith("MCP send")] == []
    attempts = Counter(call["method"] for call in runs[OWN].calls for _ in range(call["attempts"]))
    seen = Counter(span["method"] for span in client)
    assert {method: seen[method] for method in attempts} == attempts

    assert (seen["initialize"], seen["tools/list"], seen["resources/list"], seen["prompts/list"]) == (4, 2, 2, 2)


def test_its_meter_provider_gets_the_counts(got: dict[str, Any]) -> None:
    points = got["metrics"]["otel_mcp.client.calls"]
    counted: Counter[str] = Counter()
    for point in points:
        counted[point["otel_mcp.outcome"]] += point["value"]
    assert +counted == ORDINARY + ORDINARY + FATAL


def test_its_logger_provider_gets_every_call_as_an_event(got: dict[str, Any]) -> None:
    assert got["events"].count("otel_mcp.call") == (ORDINARY + ORDINARY + FATAL).total()
