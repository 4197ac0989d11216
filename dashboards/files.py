"""The YAML files around dashboards and rules: provisioning, a scrape configuration, an Alertmanager example."""

from __future__ import annotations

from typing import Any

import promql_parser
import yaml

from dashboards import settings as s
from dashboards.queries import CONNECTOR
from dashboards.rules import alerts, recording

Yaml = dict[str, Any]
DASHBOARD_FOLDER = "/var/lib/grafana/dashboards/otel-mcp"


class _Literal(str):
    """Text that YAML shows as a block, line by line."""


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(
    _Literal, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)


def dumped(comment: str, content: Yaml) -> str:
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)


def with_readable_queries(groups: list[Yaml]) -> Yaml:
    """The groups with every expression broken into lines."""
    return {
        "groups": [
            group
            | {
                "rules": [
                    rule | {"expr": _Literal(promql_parser.parse(rule["expr"]).prettify())} for rule in group["rules"]
                ]
            }
            for group in groups
        ]
    }


def recording_rules() -> str:
    said = "Recorded series for McpDeadlineHotHour and, if chosen there, for the dashboards.\nSee docs/dashboards.md."
    return dumped(said, with_readable_queries([recording.hourly(), recording.cells()]))


def alert_rules() -> str:
    said = (
        "The alerts of otel_mcp, by job and connector. McpDeadlineHotHour needs the recording rules beside this file;\n"
        "the others read raw series. dashboard_url and runbook_url are relative: see docs/dashboards.md."
    )
    return dumped(said, with_readable_queries(alerts.groups()))


def dashboard_provider() -> str:
    said = "Grafana: /etc/grafana/provisioning/dashboards/. The dashboards' JSON files belong into the path below."
    provider = {
        "name": s.TAG,
        "type": "file",
        "folder": "MCP clients",
        "disableDeletion": True,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 60,
        "options": {"path": DASHBOARD_FOLDER, "foldersFromFilesStructure": False},
    }
    return dumped(said, {"apiVersion": 1, "providers": [provider]})


def data_sources() -> str:
    said = (
        "Grafana: /etc/grafana/provisioning/datasources/. Change the addresses to your own.\n"
        "timeInterval has to be the scrape or export interval: Grafana derives $__rate_interval from it."
    )
    prometheus = {
        "name": "Prometheus",
        "uid": "prometheus",
        "type": "prometheus",
        "access": "proxy",
        "url": "http://prometheus:9090",
        "isDefault": True,
        "jsonData": {
            "httpMethod": "POST",
            "timeInterval": "15s",
            "prometheusType": "Prometheus",
            "exemplarTraceIdDestinations": [{"name": "trace_id", "datasourceUid": "tempo"}],
        },
    }
    tempo = {"name": "Tempo", "uid": "tempo", "type": "tempo", "access": "proxy", "url": "http://tempo:3200"}
    return dumped(said, {"apiVersion": 1, "datasources": [prometheus, tempo]})


def scrape_example() -> str:
    said = (
        "Prometheus, for agents on the same machine. With OTEL_MCP_TARGETS=/run/otel-mcp every agent process keeps an\n"
        "entry in that folder, so that several on one machine, each on a port of its own, are all found."
    )
    content = {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": ["rules/*.yml"],
        "scrape_configs": [
            {
                "job_name": "mcp-agents",
                "file_sd_configs": [{"files": ["/run/otel-mcp/*.json"], "refresh_interval": "15s"}],
            }
        ],
    }
    return dumped(said, content)


def alertmanager_example() -> str:
    """A tree with one receiver, and what silences what.

    A server that is down also opens breakers, fails calls and burns the budget: one page is enough.
    """
    said = "Alertmanager: replace the receiver's address. Critical ones page, the rest is collected."
    same = ["job", CONNECTOR]

    def silences(source: str, targets: tuple[str, ...]) -> Yaml:
        return {
            "source_matchers": [f'alertname = "{source}"'],
            "target_matchers": [f'alertname =~ "{"|".join(targets)}"'],
            "equal": same,
        }

    content = {
        "route": {
            "receiver": "mcp-notes",
            "group_by": ["alertname", *same],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "12h",
            "routes": [
                {"matchers": ['severity = "critical"'], "receiver": "mcp-pages", "repeat_interval": "4h"},
                {"matchers": ['severity = "info"'], "receiver": "mcp-notes", "repeat_interval": "7d"},
            ],
        },
        "inhibit_rules": [
            silences(
                "McpConnectorDown",
                (
                    "McpBreakerOpen", "McpBreakerFlapping", "McpCallsFailing", "McpDeadlineBurnFast",
                    "McpDeadlineBurnSlow", "McpReconnectStorm",
                ),
            ),
            silences("McpDeadlineBurnFast", ("McpDeadlineBurnSlow",)),
            silences("McpBreakerOpen", ("McpCallsFailing",)),
        ],
        "receivers": [
            {"name": "mcp-pages", "webhook_configs": [{"url": "http://127.0.0.1:5001/page"}]},
            {"name": "mcp-notes", "webhook_configs": [{"url": "http://127.0.0.1:5001/note"}]},
        ],
    }  # fmt: skip
    return dumped(said, content)
