"""Compose file, Collector, provisioning and Alertmanager example, as far as they can be checked without an engine."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_process import PROXYLESS, free_port, required, wait_until_ready
from simulated_month import ROOT

from dashboards import build, settings
from harness.waiting import wait_for

DEPLOY = ROOT / "deploy"
COMPOSE = ROOT / "docker-compose.yml"


@pytest.fixture
def services() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return content["services"]


def test_compose_accepts_the_file_with_and_without_the_fleet() -> None:
    for profile in ([], ["--profile", "fleet"]):
        command = [required("docker-compose"), "-f", str(COMPOSE), *profile, "config", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_images_are_pinned_to_a_full_version(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["image"] == "otel-mcp-demo" or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), name
    assert services["prometheus"]["image"] == services["history-blocks"]["image"]
    assert ":v3." in services["prometheus"]["image"]
    assert ":13." in services["grafana"]["image"]


def test_ports_are_on_loopback_and_there_is_no_password(services: dict[str, Any]) -> None:
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        assert not [name for name in service.get("environment", {}) if re.search("PASSWORD|SECRET|TOKEN", name)]
    grafana = services["grafana"]["environment"]
    assert grafana["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == grafana["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"


def test_grafana_opens_on_the_deadlines_dashboard_where_provisioning_looks(services: dict[str, Any]) -> None:
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    mounts = dict(volume.split(":")[:2] for volume in services["grafana"]["volumes"])
    folder = mounts["./dashboards/built/grafana"]
    assert home == f"{folder}/{settings.DEADLINES_UID}.json"
    provider = yaml.safe_load((build.BUILT / "provisioning" / "dashboards" / "otel-mcp.yaml").read_text())
    assert provider["providers"][0]["options"]["path"] == folder
    assert mounts["./dashboards/built/provisioning"] == "/etc/grafana/provisioning"


def test_what_compose_mounts_is_there(services: dict[str, Any]) -> None:
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith("./") or (ROOT / source).exists(), source


def test_data_sources_have_the_uids_and_addresses_that_compose_serves(services: dict[str, Any]) -> None:
    sources = yaml.safe_load((build.BUILT / "provisioning" / "datasources" / "otel-mcp.yaml").read_text())
    assert sources["apiVersion"] == 1
    for source in sources["datasources"]:
        assert set(source) <= {"name", "uid", "type", "access", "url", "isDefault", "jsonData"}
        assert re.fullmatch(r"http://(\w+):\d+", source["url"])
        assert source["url"].split("/")[2].split(":")[0] in services
    scrape = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    assert sources["datasources"][0]["jsonData"]["timeInterval"] == scrape["global"]["scrape_interval"]
    for job in scrape["scrape_configs"]:
        for target in job["static_configs"][0]["targets"]:
            assert target.split(":")[0] in services


def test_every_component_of_the_collector_is_defined_and_used() -> None:
    config = yaml.safe_load((DEPLOY / "otel-collector.yaml").read_text())
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in config["service"]["pipelines"].values() for name in pipeline[kind]}
        assert used == set(config[kind])


def test_the_collector_cumulates_what_the_fleet_sends_as_deltas(services: dict[str, Any]) -> None:
    assert services["fleet-agent"]["environment"]["OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"] == "delta"
    config = yaml.safe_load((DEPLOY / "otel-collector.yaml").read_text())
    assert config["service"]["pipelines"]["metrics/counted"]["processors"][-1] == "deltatocumulative"


# --- Alertmanager -------------------------------------------------------------------------------------------------
def test_alertmanager_accepts_the_example_and_inhibits_as_it_says(tmp_path: Path) -> None:
    config = build.BUILT / "alertmanager.example.yml"
    address = f"127.0.0.1:{free_port()}"
    command = [
        required("prometheus-alertmanager"), f"--config.file={config}", f"--storage.path={tmp_path / 'data'}",
        f"--web.listen-address={address}", "--cluster.listen-address=",
    ]  # fmt: skip
    log = tmp_path / "alertmanager.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until_ready(process, f"http://{address}/-/ready", log)
        same = {"job": "agents", "otel_mcp_connector": "odoo"}
        other = {"job": "agents", "otel_mcp_connector": "crm"}
        sent = [{"alertname": "McpConnectorDown", **same}, {"alertname": "McpBreakerOpen", **same}]
        sent += [{"alertname": "McpBreakerOpen", **other}, {"alertname": "McpCallStuck", **same}]
        body = json.dumps([{"labels": labels} for labels in sent]).encode()
        headers = {"Content-Type": "application/json"}
        PROXYLESS.open(urllib.request.Request(f"http://{address}/api/v2/alerts", body, headers), timeout=5).close()
        assert suppressed(address, len(sent)) == {("McpBreakerOpen", "odoo")}
    finally:
        process.terminate()
        process.wait(timeout=20)


def suppressed(address: str, expected: int) -> set[tuple[str, str]]:
    """The alerts that Alertmanager silences, once it has judged them all."""

    def judged() -> list[dict[str, Any]]:
        with PROXYLESS.open(f"http://{address}/api/v2/alerts", timeout=5) as answer:
            alerts: list[dict[str, Any]] = json.load(answer)
        done = len(alerts) == expected and all(alert["status"]["state"] != "unprocessed" for alert in alerts)
        return alerts if done else []

    silent = [alert["labels"] for alert in wait_for(judged, timeout=60) if alert["status"]["state"] == "suppressed"]
    return {(labels["alertname"], labels["otel_mcp_connector"]) for labels in silent}
