"""`otel-mcp demo`, run once as a user runs it; what it says is compared with what its servers counted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl, run_script
from harness.metrics import Scrape, scrape
from harness.package import environment
from harness.real_parts import start_file
from harness.waiting import wait_for
from otel_mcp._demo import report
from otel_mcp._demo.cast import CAREFUL, CAST
from otel_mcp._demo.server.counts import total

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

OUTCOMES = {"ok", "tool_error", "error", "deadline", "cancelled", "disconnected", "orphaned", "rejected"}
SECONDS = "12"
CALLS = "otel_mcp_client_calls_total"


@dataclass(frozen=True)
class Finished:
    folder: Path
    output: str
    errors: str
    exit_code: int
    during: Scrape

    def log(self, event: str) -> list[dict[str, Any]]:
        return events(read_jsonl(self.folder / "calls.jsonl"), event)

    def counts(self, name: str) -> dict[str, Any]:
        """What the server itself counted."""
        return total(sorted(self.folder.glob(f"{name}.[0-9]*.json")))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    start_file()
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "otel_mcp", "demo", "--seconds", SECONDS, "--folder", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        head = [process.stdout.readline() for _ in range(3)]
        endpoint = head[1].split()[-1]
        during = wait_for(lambda: _with_every_connector(endpoint))
        output, errors = process.communicate(timeout=LONG_ENOUGH)
    return Finished(folder, "".join(head) + output, errors, process.returncode, during)


def _with_every_connector(endpoint: str) -> Scrape | None:
    seen = scrape(endpoint)
    names = {point.labels["otel_mcp_connector"] for point in seen.matching(CALLS)}
    return seen if names == {role.name for role in CAST} else None


def test_it_ends_well_and_writes_plain_text_into_a_pipe(demo: Finished) -> None:
    assert (demo.exit_code, demo.errors) == (0, "")
    assert "\x1b" not in demo.output
    assert "Traceback" not in (demo.folder / "agent.log").read_text()
    assert str(demo.folder / "calls.jsonl") in demo.output


def test_the_endpoint_has_all_eight_outcomes_of_every_connector_while_it_runs(demo: Finished) -> None:
    for role in CAST:
        assert {
            point.labels["otel_mcp_outcome"] for point in demo.during.matching(CALLS, otel_mcp_connector=role.name)
        } == OUTCOMES


@pytest.mark.parametrize("name", [role.name for role in (*CAST, *CAREFUL)])
def test_the_log_has_each_call_that_reached_the_server_once(demo: Finished, name: str) -> None:
    recorded = Counter(
        call["tool"] for call in demo.log("call") if call["connector"] == name and call["sent"] is not False
    )
    received = {tool: counted["asked"] for tool, counted in demo.counts(name)["tools"].items()}
    assert recorded == received


@pytest.mark.parametrize("name", [role.name for role in CAST])
def test_what_the_server_answered_in_time_is_what_the_log_says(demo: Finished, name: str) -> None:
    calls = [call for call in demo.log("call") if call["connector"] == name]
    for tool, counted in demo.counts(name)["tools"].items():
        outcomes = Counter(call["outcome"] for call in calls if call["tool"] == tool)
        late = sum(event["tool"] == tool and event["connector"] == name for event in demo.log("late_response"))
        # What the server answered and nobody counted: too late, and the agent had gone or was just going.
        unseen = counted.get("result", 0) - outcomes["ok"] - late
        assert 0 <= unseen <= outcomes["deadline"] - late + outcomes["cancelled"]
        assert outcomes["tool_error"] == counted.get("tool_error", 0)
        if tool == "hang":
            assert outcomes["deadline"] + outcomes["cancelled"] == counted["asked"]
        if tool == "die":
            assert outcomes["disconnected"] == counted["asked"]


def test_every_process_of_the_dying_server_is_one_connect_in_the_log(demo: Finished) -> None:
    connects = [event for event in demo.log("connect") if event["connector"] == "builds"]
    assert len(connects) == demo.counts("builds")["spawns"] > 1


def test_the_printed_table_is_what_the_servers_counted(demo: Finished) -> None:
    table = demo.output.partition("Calls by connector and outcome")[2].partition("Where the deadlines fell")[0]
    rows = {line.split()[0]: line.split() for line in table.splitlines() if line.strip()}
    for role in (*CAST, *CAREFUL):
        asked = sum(tool["asked"] for tool in demo.counts(role.name)["tools"].values())
        refused = sum(call["connector"] == role.name and call["outcome"] == "rejected" for call in demo.log("call"))
        assert rows[role.name][1] == str(asked + refused)
    assert rows["calendar"][3] == str(demo.counts("calendar")["tools"]["reject"]["tool_error"])


def test_it_says_of_each_fault_what_to_do_next(demo: Finished) -> None:
    steps = [line for line in demo.output.splitlines() if line.startswith("- ")]
    assert {step[2:].partition(":")[0] for step in steps} == {role.name for role in (*CAST, *CAREFUL)} - {"files"}
    assert any(step.startswith("- billing: a call of hang was open for") for step in steps)
    assert any(step.startswith("- search:") and "slow, not dead" in step for step in steps)
    assert any(step.startswith("- builds:") and "exit code was 3" in step for step in steps)


def test_the_careful_agent_is_refused_by_its_breaker_and_comes_back_to_a_server_that_dies(demo: Finished) -> None:
    assert "Traceback" not in (demo.folder / "careful_agent.log").read_text()
    calls = [call for call in demo.log("call") if call["connector"] == "crm-careful"]
    refused = [call for call in calls if call["outcome"] == "rejected"]
    assert refused
    assert {(call["error_type"], call["sent"], call["attempts"]) for call in refused} == {("breaker_open", False, 0)}
    opened = [event for event in demo.log("breaker") if event["to"] == "open"]
    assert opened[0]["strikes"]["deadline"] >= 2
    reasons = [event["reason"] for event in demo.log("connect") if event["connector"] == "builds-careful"]
    assert reasons[0] == "initial"
    assert set(reasons[1:]) == {"transport"}


STARTED_AS_BY_A_SHELL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite that runs in the background ignores it
from otel_mcp._cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_ctrl_c_ends_it_with_130_and_is_no_traceback_of_any_process(tmp_path: Path) -> None:
    start_file()
    with subprocess.Popen(
        [sys.executable, "-c", STARTED_AS_BY_A_SHELL, "demo", "--folder", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Two agents work with")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        output, errors = process.communicate(timeout=LONG_ENOUGH)
    assert process.returncode == 130
    assert re.fullmatch(r"otel-mcp demo: interrupted after \d+ s\n", errors)
    assert str(tmp_path / "calls.jsonl") in output
    assert [each.name for each in tmp_path.glob("*.log") if "Traceback" in each.read_text()] == []


def test_without_the_mcp_sdk_it_says_what_to_install() -> None:
    hidden = "import sys; sys.modules.update(dict.fromkeys(['mcp', 'anyio']))\n"
    only_ours = hidden + "from importlib import util; util.find_spec = lambda name: None\n"
    done = run_script(only_ours + "from otel_mcp._cli.main import main; sys.exit(main(['demo']))\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "The demo needs mcp and rich: pip install 'otel-mcp-client[demo]'\n"


def test_a_report_on_nothing_says_so(tmp_path: Path) -> None:
    assert report.text(report.read(tmp_path / "none.jsonl")).startswith("No call was recorded.")
