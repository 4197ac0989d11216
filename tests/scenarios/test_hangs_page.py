"""`docs/hangs.md` names only what exists, and has a section for each kind that is tested here."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.real_parts import find
from otel_mcp._cli import top
from otel_mcp._cli.main import SUBCOMMANDS
from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._ground.outcomes import OUTCOMES

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "hangs.md").read_text(encoding="utf-8")

SUFFIXES = ("_bucket", "_sum", "_count")
FAMILIES = {row.prometheus: row for row in c.INSTRUMENTS}
OF_PROMETHEUS = {"job", "instance", "le"}
VALUES = {
    n.PHASE: {*n.PHASES, n.NONE},
    n.LIMIT_SOURCE: {*n.LIMIT_SOURCES, n.NONE},
    n.OUTCOME: {outcome.value for outcome in OUTCOMES},
    n.CAUSE: set(n.CAUSES),
    n.CONNECT_REASON: set(n.CONNECT_REASONS),
    n.STATE: set(n.CONNECTOR_STATES),
    n.HOOK_STATE: set(n.HOOK_STATES),
    n.BREAKER_STATE: set(n.BREAKER_STATES),
    n.RETRY_UNSAFE: {"true", "false"},
}
VALUES_BY_FIELD = {
    "phase": set(n.PHASES),
    "limit_source": set(n.LIMIT_SOURCES),
    "outcome": VALUES[n.OUTCOME],
    "cause": {*n.CAUSES, *n.STRIKE_CAUSES},
    "reason": set(n.CONNECT_REASONS),
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def prometheus(attribute: str) -> str:
    return attribute.replace(".", "_")


def families(query: str) -> set[str]:
    return set(re.findall(r"\b(?:otel_mcp|mcp)_[a-z_]+(?=\{|\[|\)| |$)", query, re.MULTILINE)) - labels_grouped_by(
        query
    )


def labels_grouped_by(query: str) -> set[str]:
    inside = re.findall(r"\b(?:by|on) \(([^)]*)\)", query)
    return {label.strip() for group in inside for label in group.split(",")}


def test_every_kind_that_is_tested_here_has_its_section() -> None:
    headings = dict(re.findall(r"^## (\d+)\. (.+)$", PAGE, re.MULTILINE))
    modules = [path.stem for path in HERE.glob("test_[0-9][0-9]_*.py")]
    kinds = dict(importlib.import_module(f"scenarios.{name}").KIND.split(" ", 1) for name in modules)
    assert len(kinds) == 13
    assert {number: headings[number].lower()[:12] for number in kinds} == {
        number: kind.lower()[:12] for number, kind in kinds.items()
    }
    assert list(headings) == [str(number) for number in range(1, 14)]


def test_every_section_has_a_query_a_line_of_the_log_and_one_of_top_or_says_that_there_is_none() -> None:
    sections = re.split(r"^## (?=\d+\.)", PAGE, flags=re.MULTILINE)[1:]
    for section in sections:
        name = section.partition("\n")[0]
        assert "```promql" in section, name
        assert "```json" in section or "The call log and `otel-mcp top` say nothing" in section, name
        assert (
            "AGE    CONNECTOR" in section
            or "not ready:" in section
            or "`otel-mcp top` show" in section
            or ("`otel-mcp top` say nothing" in section)
        ), name
        assert "**Next:**" in section, name


@pytest.mark.parametrize("query", blocks("promql"))
def test_a_query_names_metrics_labels_and_values_that_exist(query: str) -> None:
    rows = []
    for family in families(query):
        base = next((family.removesuffix(end) for end in SUFFIXES if family.removesuffix(end) in FAMILIES), family)
        assert base in FAMILIES, family
        rows.append(FAMILIES[base])
    assert rows
    keys = {prometheus(key) for row in rows for key in row.keys} | OF_PROMETHEUS
    matched = re.findall(r'([a-z_]+)(?:=|!=|=~|!~)"([^"]*)"', query)
    assert {label for label, _ in matched} | labels_grouped_by(query) <= keys
    allowed = {prometheus(key): values for key, values in VALUES.items()}
    for label, value in matched:
        if label in allowed:
            assert set(value.split("|")) <= allowed[label], label


def test_every_query_is_one_that_prometheus_can_read(tmp_path: Path) -> None:
    rules = [{"record": f"page:query_{number}", "expr": query} for number, query in enumerate(blocks("promql"))]
    file = tmp_path / "rules.json"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "page", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run(
        [find("promtool", "prometheus"), "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line", [line for block in blocks("json") for line in block.splitlines()])
def test_a_line_of_the_log_has_fields_and_values_that_exist(line: str) -> None:
    entry: dict[str, Any] = json.loads(line)
    assert set(entry) <= {*c.LOG_COMMON, *c.LOG_EVENTS[entry["event"]]}
    for field, values in VALUES_BY_FIELD.items():
        assert entry.get(field) is None or entry[field] in values, field


def test_every_table_has_the_columns_that_top_prints() -> None:
    tables = [block.splitlines() for block in blocks("text") if block.startswith("AGE")]
    assert len(tables) > 8
    for heading, *lines in tables:
        assert tuple(heading.split()) == top._HEADINGS
        starts = [heading.index(word) for word in top._HEADINGS]
        assert all(line[start - 1] == " " for line in lines for start in starts[1:])


def test_every_command_variable_and_field_in_the_text_exists() -> None:
    commands = re.findall(r"otel-mcp (\w+)", PAGE)
    assert set(commands) <= set(SUBCOMMANDS)
    assert set(re.findall(r"OTEL_[A-Z_]+", PAGE)) <= set(c.VARIABLES)
    known = {field for fields in c.LOG_EVENTS.values() for field in fields} | {*c.LOG_COMMON, *c.LOG_EVENTS}
    values = {value for some in [*VALUES.values(), *VALUES_BY_FIELD.values()] for value in some}
    others = {
        "initialize", "list_tools", "wait_for", "_other",
    }  # fmt: skip
    for word in re.findall(r"`([a-z_]+)(?:: [a-z]+)?`", PAGE):
        assert word in known | values | others, word


def test_every_place_that_a_link_leads_to_is_there() -> None:
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    }
    for file, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", PAGE):
        assert not file or (HERE.parents[1] / "docs" / file).exists(), file
        assert not anchor or anchor in anchors, anchor
