"""``otel-mcp doctor``: what it says of an environment, and that each thing in the way is one sentence."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.package import environment
from harness.real_parts import free_port
from harness.servers import Servers
from harness.sessions import client_session
from harness.watching import watching
from otel_mcp import __version__
from otel_mcp._cli import doctor, doctor_hooks, doctor_limits, doctor_packages, doctor_peers, doctor_settings
from otel_mcp._cli.doctor_model import Section, to_json, to_text
from otel_mcp._cli.main import main
from otel_mcp._ground import patching
from otel_mcp._hosts import registry

NOT_ENABLED = (
    "OTEL_MCP_ENABLED is not set here: a program started like this is watched only by `otel-mcp run`, "
    "`opentelemetry-instrument` or `otel_mcp.instrument()`"
)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of OpenTelemetry's or ours, and a port that nobody has."""

    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", str(free_port()))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a distribution's metadata on the path, as pip leaves them; its code would change nothing here."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(name: str, number: str) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-{number}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")

    return put


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "otel_mcp", "doctor", *words],
        capture_output=True, text=True, timeout=120, check=False,
        env=environment(OTEL_EXPORTER_PROMETHEUS_PORT="0", **variables),
    )  # fmt: skip


def test_a_sound_environment_has_no_findings_and_exit_code_0() -> None:
    ended = run(OTEL_MCP_ENABLED="")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith(f"\nnothing stands in the way\nnote: {NOT_ENABLED}\n")
    assert f"  {version('mcp')}\n" in ended.stdout
    assert "attributes of spans: at once; histogram points: many at once\n" in ended.stdout


def test_findings_are_exit_code_1_and_the_same_sentences_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"OTEL_MCP_STILL_WAITING": "soon", "OTEL_MCP_CONNECTORS": "crm=*crm-server*"}
    text = run(**variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (text.returncode, main(["doctor", "--json"])) == (1, 1)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    sentence = "OTEL_MCP_STILL_WAITING='soon' is not a positive number of seconds; using 30 instead"
    assert told["findings"] == [{"section": "settings", "sentence": sentence}]
    assert told["notes"] == [{"section": "settings", "sentence": NOT_ENABLED}]
    assert text.stdout.endswith(f"findings: 1\n  - {sentence}\nnote: {NOT_ENABLED}\n")
    assert told["settings"]["connectors"] == {"crm": "*crm-server*"}
    assert told["versions"]["otel_mcp"] == __version__


def test_what_is_wrong_is_told_once_where_the_start_up_of_doctors_own_process_would_tell_it_too() -> None:
    variables = {"OTEL_MCP_HOSTS": "nohost", "OTEL_MCP_STILL_WAITING": "soon", "OTEL_TRACES_EXPORTER": "jaeger"}
    ended = subprocess.run(
        [sys.executable, "-m", "otel_mcp", "run", "--", sys.executable, "-m", "otel_mcp", "doctor", "--json"],
        capture_output=True, text=True, timeout=120, check=False,
        env=environment(OTEL_EXPORTER_PROMETHEUS_PORT="0", **variables),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (1, "")
    told: dict[str, Any] = json.loads(ended.stdout)
    assert [finding["sentence"].partition(" ")[0].partition("=")[0] for finding in told["findings"]] == [*variables]
    assert told["exporters"]["traces"] == ["jaeger (not installed)"]


def test_every_patch_point_of_this_sdk_is_active_and_none_is_left() -> None:
    section = doctor_hooks.sdk_hooks()
    assert section.findings == []
    assert section.facts["mcp"]["active"] > 10
    assert (section.facts["mcp"]["missing"], section.facts["mcp"]["failed"]) == (0, 0)
    assert [status for status in patching.statuses() if status.target == "mcp"] == []


def test_a_patch_point_that_the_sdk_no_longer_has_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    import mcp.client.stdio

    monkeypatch.delattr(mcp.client.stdio, "_create_platform_compatible_process")
    section = doctor_hooks.sdk_hooks()
    assert section.facts["mcp"]["missing"] == 1
    [finding] = section.findings
    assert finding.startswith("the patch point mcp.client.stdio:_create_platform_compatible_process is missing")


def test_hosts_that_are_not_known_are_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    known = next(registry.adapters(None)).TARGET
    monkeypatch.setenv("OTEL_MCP_HOSTS", f"{known},nohost")
    [finding] = doctor_hooks.hosts(try_them=False).findings
    assert finding.startswith("OTEL_MCP_HOSTS names 'nohost', for which there is no adapter; there are: ")


def test_a_host_is_one_whose_own_modules_are_there_and_not_one_that_shares_its_first_name() -> None:
    expected = {"mcp_client": f"mcp {version('mcp')}"} if version("mcp").startswith("2.") else {}
    present, tried = doctor_hooks.hosts(try_them=False), doctor_hooks.hosts(try_them=True)
    assert (present.findings, tried.findings) == ([], [])
    assert present.facts == {
        name: f"{host}: is watched once imported (--hosts tries it)" for name, host in expected.items()
    }
    assert {name: states["distribution"] for name, states in tried.facts.items()} == expected
    assert all(states["active"] > 0 for states in tried.facts.values())


def test_a_host_in_a_folder_is_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "mcp_tool.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert doctor_hooks.hosts(try_them=False).facts["hermes"] == (
        f"in {tmp_path}: is watched once imported (--hosts tries it)"
    )


def test_a_host_that_has_moved_its_modules_is_not_passed_over(
    install: Callable[[str, str], None], tmp_path: Path
) -> None:
    install("crewai", "9.0.0")
    (tmp_path / "crewai").mkdir()
    (tmp_path / "crewai" / "__init__.py").touch()
    (tmp_path / "crewai-9.0.0.dist-info" / "top_level.txt").write_text("crewai\n")
    assert doctor_hooks.hosts(try_them=False).facts["crewai"].startswith("crewai 9.0.0: has none of the modules")


def test_somebody_elses_distribution_of_our_name_is_a_finding(install: Callable[[str, str], None]) -> None:
    assert doctor_packages.versions().findings == []
    install("otel-mcp", "0.1.4")
    [finding] = doctor_packages.versions().findings
    assert finding.startswith("the distribution otel-mcp 0.1.4 is somebody else's")
    assert finding.endswith("`pip install otel-mcp-client`")


@pytest.mark.parametrize("number", ["1.10.0", "3.0.0"])
def test_an_sdk_outside_of_what_is_watched_is_a_finding(install: Callable[[str, str], None], number: str) -> None:
    install("mcp", number)
    [finding] = doctor_packages.versions().findings
    assert finding.startswith(f"mcp {number} is outside of what is watched (1.19 to 2.x)")


def test_an_opentelemetry_that_is_too_old_is_a_finding(install: Callable[[str, str], None]) -> None:
    install("opentelemetry-sdk", "1.10.0")
    [finding] = doctor_packages.versions().findings
    assert finding == (
        "opentelemetry-sdk 1.10.0 is too old: otel-mcp-client needs 1.43 or newer, `pip install --upgrade "
        "opentelemetry-sdk`"
    )


def test_the_lowest_versions_are_those_of_the_package() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^    "([a-z-]+)>=(\d+)\.(\d+)', project, re.MULTILINE)
    assert {name: (int(major), int(minor)) for name, major, minor in declared} == doctor_packages.NEEDED


def test_an_environment_without_the_sdk_says_which_python_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor_packages.installed
    monkeypatch.setattr(doctor_packages, "installed", lambda name: None if name == "mcp" else real(name))
    [finding] = doctor_packages.versions().findings
    assert sys.executable in finding
    assert "`python -m otel_mcp doctor`" in finding


@pytest.mark.parametrize(
    ("sdk", "harm"), [("1.30.0", "turns a time-out or a closed connection into an AttributeError"),
                      ("2.3.0", "fails to load, and `opentelemetry-instrument` then skips")]
)  # fmt: skip
def test_an_instrumentor_that_breaks_the_program_is_a_finding(
    install: Callable[[str, str], None], sdk: str, harm: str
) -> None:
    install("opentelemetry-instrumentation-mcp", "0.62.4")
    [finding] = doctor_peers.peers(sdk).findings
    assert finding.startswith(f"opentelemetry-instrumentation-mcp 0.62.4 on mcp {sdk} {harm}")


def test_an_instrumentor_that_only_makes_spans_of_its_own_is_told_and_is_no_finding(
    install: Callable[[str, str], None],
) -> None:
    install("logfire", "5.4.0")
    section = doctor_peers.peers("1.30.0")
    assert section.findings == []
    assert section.facts["logfire"].startswith("5.4.0: Logfire: second spans on mcp 1.x")


def test_a_variable_without_a_start_file_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_packages, "start_file", lambda: None)
    assert doctor_packages.start().findings == []
    monkeypatch.setenv("OTEL_MCP_ENABLED", "true")
    [finding] = doctor_packages.start().findings
    assert "there is no otel_mcp_start.pth" in finding


def test_a_start_file_is_found_where_python_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)
    assert doctor_packages.start_file() is None
    (tmp_path / "otel_mcp_start.pth").touch()
    assert doctor_packages.start_file() == str(tmp_path / "otel_mcp_start.pth")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port on which something listens that never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_that_another_program_has_is_a_finding(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor_settings.exporters().findings == []
    monkeypatch.setattr(doctor_settings, "_ANSWER_SECONDS", 0.1)
    monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", str(taken))
    section = doctor_settings.exporters()
    assert section.facts["endpoint"] == f"http://127.0.0.1:{taken}/metrics (taken by another program)"
    [finding] = section.findings
    assert finding.startswith(f"port {taken} on 127.0.0.1 is taken by another program")


def test_a_port_that_a_watched_program_has_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client import CollectorRegistry, Gauge, start_http_server

    registry = CollectorRegistry()
    Gauge("otel_mcp_hooks", "As a watched program serves it.", registry=registry)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    try:
        monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", str(server.server_port))
        section = doctor_settings.exporters()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert section.findings == []
    assert section.facts["endpoint"].endswith("(taken by a watched program)")


def test_a_collector_that_is_not_there_and_a_bad_value_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:secret@127.0.0.1:{free_port()}?key=1")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "console")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "sometimes")
    section = doctor_settings.exporters()
    assert (section.facts["traces"], section.facts["metrics"], section.facts["logs"]) == (["otlp"], [], ["console"])
    closed, sampler = section.findings
    assert closed.startswith("nothing listens where traces are sent (OTEL_EXPORTER_OTLP_ENDPOINT: http://127.0.0.1:")
    assert "secret" not in closed
    assert "key" not in closed
    assert sampler == "OTEL_TRACES_SAMPLER='sometimes' is not a known sampler; using parentbased_always_on instead"


@pytest.mark.parametrize(("protocol", "port"), [("http/protobuf", 4318), ("grpc", 4317)])
def test_the_collectors_default_port_is_that_of_the_protocol(
    monkeypatch: pytest.MonkeyPatch, protocol: str, port: int
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    finding, *_ = doctor_settings.exporters().findings
    assert finding.startswith(f"nothing listens where traces are sent (the default: http://localhost:{port}): ")


def test_a_bad_port_is_told_as_the_program_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_PROMETHEUS_PORT", "94644")
    finding, *_ = doctor_settings.exporters().findings
    assert finding == "OTEL_EXPORTER_PROMETHEUS_PORT='94644' is not a port from 0 to 65535; using 9464 instead"


def test_files_that_cannot_be_written_are_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", str(tmp_path / "missing" / "calls.jsonl"))
    monkeypatch.setenv("OTEL_MCP_TARGETS", str(tmp_path / "none"))
    log, targets = doctor_settings.files().findings
    assert log.endswith(f"cannot be written (there is no folder {tmp_path / 'missing'}): correct OTEL_MCP_CALL_LOG")
    assert targets.endswith("(no such folder): make the folder, or name another")
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", str(tmp_path / "calls-{pid}.jsonl"))
    monkeypatch.setenv("OTEL_MCP_TARGETS", str(tmp_path))
    section = doctor_settings.files()
    assert section.findings == []
    assert section.facts["call log"] == str(tmp_path / "calls-{pid}.jsonl"), "not with the number of doctor's process"
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"


def test_a_connector_whose_calls_have_no_limit_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls.jsonl"
    entries = [
        {"event": "call", "connector": "crm", "limit": None, "limits": {"sdk": None}},
        {"event": "call", "connector": "search", "limit": None, "limits": {"sdk": None, "caller": 30.0}},
        {"event": "call", "connector": "search", "limit": None, "limits": {}},
        {"event": "connect", "connector": "mail"},
    ]
    log.write_text("torn\n" + "".join(json.dumps(entry) + "\n" for entry in entries[1:]))
    (tmp_path / "calls-4711-2026-11-30.jsonl").write_text(json.dumps(entries[0]))
    log.rename(tmp_path / "calls-4712-2026-11-29.jsonl")
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", str(tmp_path / "calls-{pid}-{date}.jsonl"))
    section = doctor_limits.limits()
    assert section.facts == {
        "crm": "0 of the last 1 calls had a time limit",
        "search": "1 of the last 2 calls had a time limit",
    }
    [finding] = section.findings
    assert finding.startswith("none of the last 1 calls to crm had a time limit")


@pytest.mark.parametrize(("limit", "limited"), [(None, 0), (30.0, 1)])
def test_what_a_real_session_has_written_tells_whether_its_calls_had_a_limit(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float | None, limited: int
) -> None:
    async def call() -> None:
        async with client_session(servers.stdio().target, read_timeout=limit) as session:
            await session.call_tool("echo", {"text": "x"})

    log = tmp_path / "calls.jsonl"
    with watching(log):
        anyio.run(call)
    monkeypatch.setenv("OTEL_MCP_CALL_LOG", str(log))
    section = doctor_limits.limits()
    assert section.facts == {"faulty": f"{limited} of the last 1 calls had a time limit"}
    assert len(section.findings) == 1 - limited


def test_the_variable_and_its_opposite_at_once_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_MCP_ENABLED", "true")
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "requests, otel_mcp")
    [finding] = doctor_settings.settings().findings
    assert finding.endswith("nothing is watched; take one of the two away")
    assert doctor_settings.settings().notes == []
    monkeypatch.setenv("OTEL_MCP_ENABLED", "false")
    [note] = doctor_settings.settings().notes
    assert note.startswith("OTEL_MCP_ENABLED is not true here: ")


def test_the_text_is_aligned_and_has_no_control_characters() -> None:
    sections = [
        Section("one", {"a": None, "long name": True}),
        Section("two", {"b": "x\x1b[2J"}, ["Do this."]),
        Section("three"),
    ]
    assert to_text(sections).splitlines() == [
        "one", "  a          -", "  long name  yes", "", "two", "  b          x?[2J", "", "three", "  none", "",
        "findings: 1", "  - Do this.",
    ]  # fmt: skip
    assert to_json(sections)["findings"] == [{"section": "two", "sentence": "Do this."}]
    assert to_json(sections)["notes"] == []


def test_everything_is_looked_at() -> None:
    assert [section.name for section in doctor.examine()] == [
        "versions", "installation", "hooks", "hosts", "other instrumentors", "settings", "exporters", "files", "limits",
    ]  # fmt: skip


def test_an_sdk_that_cannot_be_imported_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('half of it is missing')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mcp", raising=False)
    section = doctor_hooks.sdk_hooks()
    assert section.facts == {}
    [finding] = section.findings
    assert finding.startswith("mcp cannot be imported here (ImportError: half of it is missing)")


def test_an_environment_without_the_sdk_and_what_it_brings_is_told_and_nothing_breaks() -> None:
    script = (
        "import sys; sys.modules['anyio'] = None\n"
        "from importlib import util; real = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name in ('mcp', 'anyio') else real(name, *rest)\n"
        "from otel_mcp._cli.main import main; sys.exit(main(['doctor']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=120, check=False,
        env=environment(OTEL_EXPORTER_PROMETHEUS_PORT="0"),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "hooks\n  none\n" in ended.stdout
