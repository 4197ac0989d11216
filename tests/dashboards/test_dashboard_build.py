"""What is built: equal to what is committed, made of known names, and as the dashboard linter wants it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_variables import expanded, panels, targets

from dashboards import build, settings
from otel_mcp._ground import catalogue

BOARDS = {board.uid: build.dashboard(board) for board in build.BOARDS}
ALL_PANELS = [pytest.param(uid, panel, id=panel["title"]) for uid in BOARDS for panel in panels(uid)]
ALL_TARGETS = [pytest.param(uid, t["expr"], id=f"{title}/{n}") for n, (uid, title, t) in enumerate(targets())]
FAMILIES = {instrument.prometheus: instrument for instrument in catalogue.INSTRUMENTS}
RECORDED = {
    settings.RECORDED_DEADLINES, settings.RECORDED_ANSWERABLE, settings.CELL_DEADLINES, settings.CELL_ANSWERABLE,
    settings.CELL_FULLEST,
}  # fmt: skip
OURS = {"job", "instance", "le", settings.RECORDED_LABEL, settings.HOURS_LABEL, "hour", "weekday"}
SDKS = {"otel_metric_overflow", "__name__"}


def rules() -> Iterator[tuple[str, str]]:
    for file in sorted((build.BUILT / "rules").glob("*.yml")):
        for group in yaml.safe_load(file.read_text())["groups"]:
            for rule in group["rules"]:
                yield rule.get("alert") or rule["record"], rule["expr"]


ALL_RULES = [pytest.param("", expr, id=name) for name, expr in rules()]


def selectors(expr: str) -> list[Any]:
    """Every vector selector in an expression, wherever it stands."""
    found: list[Any] = []

    def walk(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        for name in ("expr", "lhs", "rhs", "param", "vector_selector", "vs", "args"):
            child = getattr(node, name, None)
            for one in child if isinstance(child, list) else [child]:
                if one is not None and not isinstance(one, str | float | int):
                    walk(one)

    walk(promql_parser.parse(expanded(expr)))
    return found


def family(name: str) -> catalogue.Instrument | None:
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    found = FAMILIES.get(name) or FAMILIES.get(base)
    if found is not None and found.kind == "histogram":
        assert name != base, f"{name} is a histogram: ask for its _bucket, _sum or _count"
    return found


def labels_of(expr: str) -> set[str]:
    """Every label that an expression matches, groups by or joins on."""
    grouped = re.findall(r"\b(?:by|on|without|group_left|ignoring)\s*\(([^)]*)\)", expr)
    return {label.strip() for group in grouped for label in group.split(",") if label.strip()}


def test_what_is_committed_is_what_is_built() -> None:
    assert build.differing() == []


def test_a_changed_a_missing_and_a_left_over_file_are_told(tmp_path: Path) -> None:
    for name, text in build.built().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert build.differing(tmp_path) == []
    (tmp_path / "prometheus.example.yml").write_text("global: {}\n")
    (tmp_path / "alertmanager.example.yml").unlink()
    (tmp_path / "left-over.json").write_text("{}")
    assert build.differing(tmp_path) == ["alertmanager.example.yml", "left-over.json", "prometheus.example.yml"]


# --- names --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("uid", "expr"), ALL_TARGETS + ALL_RULES)
def test_every_metric_and_label_of_a_query_is_in_the_catalogue(uid: str, expr: str) -> None:
    assert selectors(expr)
    known = set(OURS)
    for selector in selectors(expr):
        matched = {matcher.name for matcher in selector.matchers.matchers}
        if selector.name is None:
            assert matched <= SDKS | OURS
            continue
        if selector.name in RECORDED:
            known |= {"otel_mcp_connector"}
            assert matched <= OURS | {"otel_mcp_connector"}
            continue
        instrument = family(selector.name)
        assert instrument is not None, f"{selector.name} is no instrument of ours"
        keys = {key.replace(".", "_") for key in instrument.keys}
        known |= keys
        assert matched <= keys | OURS, f"{selector.name} has no {matched - keys - OURS}"
    assert labels_of(expr) <= known


@pytest.mark.parametrize(("uid", "expr"), ALL_TARGETS + ALL_RULES)
def test_queries_on_opentelemetry_s_own_names_ask_for_a_connector(uid: str, expr: str) -> None:
    for selector in selectors(expr):
        if (selector.name or "").startswith("mcp_client_"):
            assert '{}!=""'.format("otel_mcp_connector") in str(selector.prettify()).replace(" ", "")


def test_every_metric_of_the_contract_is_on_a_panel() -> None:
    shown = {selector.name for _, _, target in targets() for selector in selectors(target["expr"])}
    instruments = {found.name for name in shown if name and (found := family(name))}
    assert instruments == {instrument.name for instrument in catalogue.INSTRUMENTS}


# --- the dashboard linter's rules -----------------------------------------------------------------------------------
@pytest.mark.parametrize("uid", BOARDS)
def test_a_dashboard_has_the_variables_that_the_linter_wants(uid: str) -> None:
    variables = {v["name"]: v for v in BOARDS[uid]["templating"]["list"]}
    assert (variables["datasource"]["type"], variables["datasource"]["label"]) == ("datasource", "Data source")
    for name in ("job", "instance"):
        variable = variables[name]
        assert variable["label"] == name.capitalize()
        assert (variable["multi"], variable["allValue"], variable["refresh"]) == (True, ".+", 2)
        assert variable["datasource"]["uid"] == "$datasource"
    for variable in variables.values():
        if variable["type"] == "query":
            inner = re.fullmatch(r"label_values\((.+), \w+\)", variable["definition"])
            assert inner is not None
            assert promql_parser.parse(expanded(inner[1]))


@pytest.mark.parametrize("uid", BOARDS)
def test_a_dashboard_cannot_be_edited_and_links_to_the_others_with_range_and_variables(uid: str) -> None:
    board = BOARDS[uid]
    assert board["editable"] is False
    assert board["schemaVersion"] in (41, 42)
    (link,) = board["links"]
    assert (link["tags"], link["keepTime"], link["includeVars"]) == (board["tags"], True, True)
    ids = [panel["id"] for panel in panels(uid)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("uid", "panel"), ALL_PANELS)
def test_a_panel_asks_a_question_and_says_how_to_read_it(uid: str, panel: dict[str, Any]) -> None:
    assert panel["title"].endswith("?")
    assert len(panel["description"]) > 40
    if panel["type"] == "text":
        return
    assert panel["datasource"] == {"type": "prometheus", "uid": "$datasource"}
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["targets"]
    if panel["type"] != "heatmap":
        assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["value"] is None


@pytest.mark.parametrize("uid", BOARDS)
def test_panels_lie_within_the_page_and_do_not_overlap(uid: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARDS[uid]["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        taken |= cells


@pytest.mark.parametrize(("uid", "expr"), ALL_TARGETS)
def test_every_selector_follows_the_job_and_instance_variables(uid: str, expr: str) -> None:
    # Recorded series are summed over instances: they follow the job only.
    for name, body in re.findall(r"([\w:]*)\{([^{}]*)\}", expr):
        assert 'job=~"$job"' in body
        assert name in RECORDED or 'instance=~"$instance"' in body


@pytest.mark.parametrize(("uid", "expr"), ALL_TARGETS)
def test_rates_follow_the_scrape_interval_and_counters_are_never_read_raw(uid: str, expr: str) -> None:
    assert set(re.findall(r"\bi?rate\([^\[]*\[([^\]]+)\]", expr)) <= {"$__rate_interval"}
    for counter in re.finditer(r"\b\w+_(?:total|bucket|sum|count)\{[^{}]*\}(?!\[)", expr):
        pytest.fail(f"{counter[0]} is read without increase() or rate()")


@pytest.mark.parametrize("uid", BOARDS)
def test_links_between_dashboards_lead_to_dashboards_and_keep_range_and_variables(uid: str) -> None:
    for url in re.findall(r'"url": "(/d/[^"]+)"', json.dumps(BOARDS[uid])):
        assert url.split("?")[0].removeprefix("/d/") in BOARDS
        for kept in ("${__url_time_range}", "${datasource:queryparam}", "${job:queryparam}", "${instance:queryparam}"):
            assert kept in url


def test_variables_of_a_fixed_list_say_text_and_value() -> None:
    for board in BOARDS.values():
        for variable in board["templating"]["list"]:
            if variable["type"] == "custom":
                pairs = [part.split(" : ") for part in variable["query"].split(", ")]
                assert pairs == [[o["text"], o["value"]] for o in variable["options"]]
                assert variable["current"]["value"] in [o["value"] for o in variable["options"]]
