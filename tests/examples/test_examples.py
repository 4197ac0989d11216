"""The programs in ``examples/`` do what `docs/examples.md` says of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.metrics import scrape
from harness.package import environment
from harness.servers import Servers

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WATCHED = [sys.executable, "-m", "otel_mcp", "run", "--", sys.executable]
SAID = ["echo hello", "reject no such day", "hang"]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_ENOUGH, check=False,
        env=environment(OTEL_EXPORTER_PROMETHEUS_PORT="0", **variables),
    )  # fmt: skip


@pytest.fixture
def config(tmp_path: Path, servers: Servers) -> Path:
    """The example's configuration, with this interpreter and a server's real port."""
    given = json.loads((EXAMPLES / "plain_agent" / "servers.json").read_text())["mcpServers"]
    given["notes"] |= {"command": sys.executable, "env": servers.stdio().target.env}
    given["search"]["url"] = servers.http(name="search").target
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": given}))
    return file


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a collector and the file in which it writes down what came."""
    file = tmp_path / "received.jsonl"
    program = ROOT / "tests" / "servers" / "otlp_receiver.py"
    with subprocess.Popen([sys.executable, str(program), str(file)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}", file
        finally:
            process.kill()


def requests(file: Path, signal: str) -> list[dict[str, Any]]:
    return [request for request in read_jsonl(file) if request["signal"] == signal]


def test_the_plain_agent_has_no_telemetry_in_it_and_is_watched(config: Path, tmp_path: Path) -> None:
    agent = EXAMPLES / "plain_agent" / "agent.py"
    assert "otel" not in agent.read_text().lower()
    log = tmp_path / "calls.jsonl"
    ended = run([*WATCHED, str(agent), str(config)], OTEL_MCP_CALL_LOG=str(log))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.removesuffix(" McpError").removesuffix(" MCPError") for line in ended.stdout.splitlines()] == [
        f"{name} {each}" for name in ("notes", "search") for each in SAID
    ]
    calls = Counter((call["transport"], call["outcome"]) for call in events(read_jsonl(log), "call"))
    assert calls == {(way, end): 1 for way in ("stdio", "http") for end in ("ok", "tool_error", "deadline")}


def test_the_agent_that_is_set_up_in_code_gets_the_spans_in_its_own_provider() -> None:
    ended = run([sys.executable, str(EXAMPLES / "code_setup" / "agent.py")])
    assert (ended.returncode, ended.stdout) == (0, "notes {'ok': 1, 'tool_error': 1}\n"), ended.stderr
    spans = [line for line in ended.stderr.splitlines() if line.startswith("span: ")]
    assert spans.count("span: tools/call echo") == 1
    assert "span: tools/call reject" in spans


def test_the_variables_for_otlp_send_all_three_signals(config: Path, receiver: tuple[str, Path]) -> None:
    endpoint, received = receiver
    lines = (EXAMPLES / "otlp" / "otlp.env").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    ended = run([*WATCHED, str(EXAMPLES / "plain_agent" / "agent.py"), str(config)], **variables)
    assert (ended.returncode, ended.stderr) == (0, "")
    spans = [name for request in requests(received, "traces") for name in request["items"]]
    metrics = {name for request in requests(received, "metrics") for name in request["items"]}
    records = [name for request in requests(received, "logs") for name in request["items"]]
    assert spans.count("tools/call echo") == 2
    assert {"otel_mcp.client.calls", "mcp.client.operation.duration"} <= metrics
    assert records.count("otel_mcp.call") == 6


def test_each_of_many_workers_is_a_target_and_an_instance_of_its_own(
    tmp_path: Path, receiver: tuple[str, Path]
) -> None:
    endpoint, received = receiver
    targets = tmp_path / "targets"
    targets.mkdir()
    with subprocess.Popen(
        [*WATCHED, str(EXAMPLES / "many_workers" / "workers.py"), "--workers", "2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(
            OTEL_SERVICE_NAME="workers", OTEL_MCP_TARGETS=str(targets), OTEL_EXPORTER_PROMETHEUS_PORT="0",
            OTEL_METRICS_EXPORTER="prometheus,otlp", OTEL_TRACES_EXPORTER="none", OTEL_LOGS_EXPORTER="none",
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(2)) == ["worker 0: 5 calls\n", "worker 1: 5 calls\n"]
        entries = [json.loads(file.read_text())[0] for file in targets.glob("*.json")]
        addresses = [entry["targets"][0] for entry in entries]
        counted = [scrape(f"http://{each}/metrics").total("otel_mcp_client_calls_total") for each in addresses]
        process.communicate(timeout=LONG_ENOUGH)
    assert counted == [5, 5]
    assert {entry["labels"]["service"] for entry in entries} == {"workers"}
    assert list(targets.iterdir()) == [], "an entry goes when its worker does"
    instances = {
        attribute["value"]["stringValue"]
        for request in requests(received, "metrics")
        for resource in request["body"]["resourceMetrics"]
        for attribute in resource["resource"]["attributes"]
        if attribute["key"] == "service.instance.id"
    }
    assert len(instances) == 2


def test_every_example_is_on_the_page_about_them() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    assert [each.name for each in EXAMPLES.iterdir() if f"examples/{each.name}/" not in page] == []


def test_the_commands_on_the_page_are_for_the_top_folder_and_leave_nothing_set() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    commands = [line[2:] for line in page.splitlines() if line.startswith(("$ ", "> "))]
    paths = [path for command in commands for path in re.findall(r"examples/[\w/.]+", command)]
    assert paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert [command for command in commands if command.startswith(("cd ", "export ", "set ", ". "))] == []
