"""Dashboards on a live scrape: of an endpoint with every instrument, and of the demonstration's agent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from grafana_variables import expanded, panel, targets
from prometheus_process import Prometheus, free_port, running
from simulated_month import ROOT

from dashboards import build, settings
from dashboards.queries import CONNECTOR
from harness.package import environment
from harness.waiting import wait_for
from otel_mcp._ground import catalogue

pytestmark = [pytest.mark.prometheus, pytest.mark.slow, pytest.mark.xdist_group("month")]

PAUSE = 0.3
"""Seconds between two questions to a Prometheus that scrapes every three."""
EMPTY_HERE = {
    "How many are down?": "the connector is ready",
    "Which connectors are down, and when?": "the connector is ready",
    "Did the SDK drop labels?": "it did not",
    "Which processes fell silent in the last day?": "none did",
}


def configuration(folder: Path, port: int, job: str) -> Path:
    config = folder / "prometheus.yml"
    scrape = {"job_name": job, "scrape_interval": "3s", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    config.write_text(yaml.safe_dump({"scrape_configs": [scrape]}))
    return config


def asked(prometheus: Prometheus, expr: str, connector: str) -> list[tuple[dict[str, str], float]]:
    """The answer for now. Folding queries see half hours that have ended: for them the running one ends now."""
    chosen = expanded(expr, connector=connector, __rate_interval="1m", __range="1h", min_calls="1")
    half_hour = settings.BUCKET_SECONDS
    folds = f":{settings.BUCKET}]" in expr
    return prometheus.instant(chosen, (time.time() // half_hour + 1) * half_hour if folds else time.time())


# --- every instrument ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("scrape")
    command = [sys.executable, str(Path(__file__).with_name("every_instrument.py"))]
    endpoint = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
    assert endpoint.stdin is not None
    assert endpoint.stdout is not None
    try:
        port = int(endpoint.stdout.readline())
        with running(configuration(folder, port, "live"), folder / "data") as prometheus:
            zero = f"{catalogue.CALLS.prometheus} == 0"
            wait_for(lambda: len(prometheus.instant(zero, time.time())) == 8, timeout=60, pause=PAUSE)
            endpoint.stdin.write("now\n")
            endpoint.stdin.flush()
            assert endpoint.stdout.readline() == "done\n"
            ten = f"count_over_time(({catalogue.CALLS.prometheus} == 10)[1m:1s]) > 2"
            wait_for(lambda: len(prometheus.instant(ten, time.time())) == 8, timeout=60, pause=PAUSE)
            yield prometheus
    finally:
        endpoint.stdin.close()
        endpoint.wait(timeout=20)
        endpoint.stdout.close()


@pytest.mark.parametrize(("uid", "title", "expr"), [(u, t, e["expr"]) for u, t, e in targets()])
def test_every_query_finds_the_exporter_s_own_names_and_labels(
    scraped: Prometheus, uid: str, title: str, expr: str
) -> None:
    found = asked(scraped, expr, "live" if uid == settings.CONNECTOR_UID else ".+")
    assert bool(found) is (title not in EMPTY_HERE)


def test_no_rule_of_ours_needs_a_label_that_the_exporter_does_not_write(scraped: Prometheus) -> None:
    exposed = {metric["__name__"]: set(metric) for metric in scraped.api("series", **{"match[]": '{job="live"}'})}
    for instrument in catalogue.INSTRUMENTS:
        name = instrument.prometheus + ("_bucket" if instrument.kind == "histogram" else "")
        missing = {key.replace(".", "_") for key in instrument.keys} - exposed[name]
        assert missing <= {"gen_ai_prompt_name", "rpc_response_status_code"}


def test_the_first_deadline_after_the_start_is_counted(scraped: Prometheus) -> None:
    title = "Which connectors lost the most calls to deadlines?"
    target = panel(settings.DEADLINES_UID, title)["targets"][1]
    ((labels, deadlines),) = asked(scraped, target["expr"], ".+")
    assert labels[CONNECTOR] == "live"
    # Ten deadlines; few scrapes are extrapolated by up to one interval at each end, on a busy machine more.
    assert 9 < deadlines < 25


# --- the demonstration --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("demo")
    port = free_port()
    exporting = {
        "OTEL_SERVICE_NAME": "demo", "OTEL_METRICS_EXPORTER": "prometheus", "OTEL_TRACES_EXPORTER": "none",
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(port), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with (folder / "agent.log").open("wb") as log:
        agent = subprocess.Popen(
            [sys.executable, str(ROOT / "deploy" / "demo_agent.py"), "--seconds", "40"],
            stdout=log, stderr=subprocess.STDOUT, env=environment(**exporting), start_new_session=True,
        )  # fmt: skip
    try:
        with running(configuration(folder, port, "demo"), folder / "data") as prometheus:
            cut_off = f'{catalogue.CALLS.prometheus}{{otel_mcp_connector="crm", otel_mcp_outcome="deadline"}} > 1'
            wait_for(lambda: bool(prometheus.instant(cut_off, time.time())), timeout=60, pause=PAUSE)
            yield prometheus
    finally:
        os.killpg(agent.pid, 15)
        agent.wait(timeout=30)


def column(prometheus: Prometheus, uid: str, title: str, place: int = 0) -> dict[str, float]:
    found = asked(prometheus, panel(uid, title)["targets"][place]["expr"], ".+")
    return {labels.get(CONNECTOR, ""): value for labels, value in found}


def test_the_demonstration_s_hanging_server_stands_out_and_its_healthy_one_does_not(
    demonstration: Prometheus,
) -> None:
    shares = column(demonstration, settings.DEADLINES_UID, "Which connectors lost the most calls to deadlines?", 2)
    assert shares["crm"] >= 0.3
    assert shares["files"] == 0
    matrix = column(
        demonstration, settings.DEADLINES_UID, "At which hour of the day does which connector run out of time?"
    )
    assert set(matrix) <= {"files", "search", "crm", "billing", "calendar", "builds"}


def test_the_demonstration_s_deadlines_are_the_sdk_s_and_fall_into_the_wait(demonstration: Prometheus) -> None:
    title = "In which phase did the time run out, and whose limit was it?"
    found = asked(demonstration, panel(settings.DEADLINES_UID, title)["targets"][0]["expr"], ".+")
    whose = {(labels["otel_mcp_phase"], labels["otel_mcp_limit_source"]) for labels, _ in found}
    assert ("wait", "sdk") in whose


def test_the_health_board_sees_hooks_and_connectors_of_the_demonstration(demonstration: Prometheus) -> None:
    ready = asked(
        demonstration, panel(settings.HEALTH_UID, "How many connectors are ready?")["targets"][0]["expr"], ".+"
    )
    assert ready[0][1] >= 4
    lost = panel(settings.HEALTH_UID, "How many patch points are missing or failed?")["targets"][0]["expr"]
    assert asked(demonstration, lost, ".+") == [({}, 0.0)]


@pytest.mark.parametrize(("uid", "title", "expr"), [(u, t, e["expr"]) for u, t, e in targets()])
def test_every_query_is_answered_on_the_demonstration(
    demonstration: Prometheus, uid: str, title: str, expr: str
) -> None:
    asked(demonstration, expr, "crm" if uid == settings.CONNECTOR_UID else ".+")


def test_every_dashboard_was_asked() -> None:
    assert {uid for uid, _, _ in targets()} == {board.uid for board in build.BOARDS}
