"""`docs/contract.md` and the code say the same, in both directions."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import otel_mcp
from otel_mcp import hooks, resilience
from otel_mcp._cli.main import SUBCOMMANDS
from otel_mcp._ground import catalogue, names, verdicts
from otel_mcp._ground.outcomes import OUTCOMES
from otel_mcp._ground.settings import Settings
from otel_mcp._record import events
from otel_mcp._version import __version__

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "contract.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, f"the page has no section {title}"
    return found.group(1)


def tables(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """Header and rows of every table."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block.splitlines()]
        found.append((lines[0], lines[2:]))
    return found


def table(title: str, number: int = 0) -> list[list[str]]:
    return tables(section(title))[number][1]


def ticked(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_row_of_a_list_of_names_says_since_when_it_is_true() -> None:
    releases = {"-", ".".join(__version__.split(".")[:2])}
    for header, rows in tables(PAGE):
        if header[0] == "word":
            continue
        assert header[-1] == "since"
        assert {row[-1] for row in rows} <= releases
        assert {len(row) for row in rows} == {len(header)}


def test_the_outcomes_are_these_with_their_buckets_and_error_types() -> None:
    rows = table("Outcomes")
    assert [(ticked(row[0])[0], ticked(row[1])[0]) for row in rows] == [(o.value, o.bucket) for o in OUTCOMES]
    listed = {name for row in rows for name in ticked(row[3]) if not name.startswith("-")}
    assert listed == {*verdicts.FIXED_ERROR_TYPES, verdicts.CANCELLED}


def test_the_attributes_and_log_fields_are_these() -> None:
    rows = table("Attributes and log fields")
    attributes = {name for row in rows for name in ticked(row[0])}
    fields = [name for row in rows for name in ticked(row[1])]
    assert attributes <= every_name()
    assert sorted(fields) == sorted([*catalogue.LOG_CALL_ATTRIBUTES, "attempts"])
    by_field = {ticked(row[1])[0]: ticked(row[2]) for row in rows}
    assert by_field["limit_source"] == list(names.LIMIT_SOURCES)
    assert by_field["cause"] == list(names.CAUSES)
    assert [name for name in by_field["phase"] if name in names.PHASES] == list(names.PHASES)
    assert by_field["breaker"] == list(names.BREAKER_STATES)


def every_name() -> set[str]:
    return {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}


CONTENT = {names.GEN_AI_TOOL_CALL_ARGUMENTS, names.GEN_AI_TOOL_CALL_RESULT}
"""Under `OTEL_MCP_CAPTURE_CONTENT`, which the page says is not there yet."""


def test_every_attribute_that_the_code_names_stands_on_the_page() -> None:
    ours = {name for name in every_name() if "." in name} - CONTENT
    assert {name for name in ours if f"`{name}`" not in PAGE} == set()


def test_every_name_of_ours_on_the_page_is_in_the_code() -> None:
    known = every_name() | {row.name for row in catalogue.INSTRUMENTS}
    prose = re.sub(r"^## (Command|Python)\n.*?(?=^## )", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    claimed = {name for name in re.findall(r"`(otel_mcp\.[a-z_.]+)`", prose) if not name.endswith(".")}
    assert claimed - known == set()


def test_the_instruments_are_these() -> None:
    found = [(ticked(row[0])[0], row[1], ticked(row[2])[0], tuple(ticked(row[3]))) for row in table("Metrics")]
    assert found == [(row.name, row.kind, row.unit, row.keys) for row in catalogue.INSTRUMENTS]


def test_the_bucket_bounds_are_these() -> None:
    (line,) = re.findall(r"^Bucket bounds, seconds: (.*?)\. The life of a session.*$", PAGE, re.MULTILINE)
    assert tuple(map(float, line.split())) == names.DURATION_BOUNDS
    (longer,) = re.findall(r"late answers have ([\d ]+) as well", PAGE)
    assert (*names.DURATION_BOUNDS, *map(float, longer.split())) == names.LONG_BOUNDS


def test_the_closed_value_sets_are_these() -> None:
    assert {ticked(row[0])[0]: tuple(ticked(row[1])) for row in table("Metrics", 1)} == {
        names.CONNECT_REASON: names.CONNECT_REASONS,
        names.STATE: names.CONNECTOR_STATES,
        names.BREAKER_STATE: names.BREAKER_STATES,
        names.BREAKER_CAUSE: names.STRIKE_CAUSES,
        names.HOOK_STATE: names.HOOK_STATES,
    }


def test_the_call_logs_events_and_fields_are_these() -> None:
    assert {ticked(row[0])[0]: tuple(ticked(row[1])) for row in table("Call log")} == catalogue.LOG_EVENTS
    (common,) = re.findall(r"On every line: (.*?)\. `time`", section("Call log"), re.DOTALL)
    assert tuple(ticked(common)) == catalogue.LOG_COMMON


def test_the_fields_that_are_written_are_those_of_the_catalogue() -> None:
    source = inspect.getsource(events)
    written = re.findall(r'^        "(\w+)":', source, re.MULTILINE)
    assert set(written) <= {field for fields in catalogue.LOG_EVENTS.values() for field in fields}


def test_the_variables_are_these_and_their_defaults() -> None:
    rows = table("Environment")
    assert [ticked(row[0])[0] for row in rows] == list(catalogue.VARIABLES)
    asked: list[str] = []

    class Asked(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            asked.append(key)
            return default

    settings = Settings.from_environment(Asked())
    assert sorted(name for name in asked if name.startswith("OTEL_MCP_")) == sorted(catalogue.VARIABLES)
    defaults = {ticked(row[0])[0].removeprefix("OTEL_MCP_").lower(): row[1].strip("`") for row in rows}
    for name, said in defaults.items():
        value = getattr(settings, name)
        shown = {None: "unset", False: "false", True: "true", (): "unset"}.get(value, f"{value:g}" if value else "")
        assert said == {"hosts": "auto", "enabled": "unset"}.get(name, shown)


def test_the_subcommands_are_these_and_those_said_to_be_there_are() -> None:
    rows = {ticked(row[0])[0]: row[-1] for row in table("Command")}
    assert list(rows) == list(SUBCOMMANDS)
    there = {name for name in rows if importlib.util.find_spec(f"otel_mcp._cli.{name}") is not None}
    assert {name for name, since in rows.items() if since != "-"} == there


@pytest.mark.parametrize("row", table("Command"), ids=lambda row: ticked(row[0])[0])
def test_the_options_of_a_subcommand_are_these(row: list[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    importlib.import_module(f"otel_mcp._cli.{ticked(row[0])[0]}").add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z-]+", ticked(row[1])[0])) == options


def public_modules() -> list[str]:
    found = pkgutil.iter_modules(otel_mcp.__path__)
    return ["otel_mcp", *(f"otel_mcp.{module.name}" for module in found if not module.name.startswith("_"))]


def test_the_public_names_of_every_module_are_these() -> None:
    said = {ticked(row[0])[0]: ticked(row[1]) for row in table("Python")}
    assert said == {module: list(importlib.import_module(module).__all__) for module in public_modules()}


@pytest.mark.parametrize("row", table("Python", 1), ids=lambda row: ticked(row[0])[0])
def test_a_public_callables_parameters_are_these(row: list[str]) -> None:
    *modules, name = ticked(row[0])[0].split(".")
    found: Any = otel_mcp
    if modules:
        found = importlib.import_module(f"otel_mcp.{modules[0]}")
    for part in [*modules[1:], name]:
        found = getattr(found, part)
    parameters = [parameter for parameter in inspect.signature(found).parameters if parameter != "self"]
    assert parameters == ticked(row[1])


def test_the_members_of_what_a_host_reports_with_are_these() -> None:
    said = {ticked(row[0])[0]: ticked(row[1]) for row in table("Python", 2)}
    classes = {name: value for name, value in vars(hooks).items() if name in hooks.__all__ and inspect.isclass(value)}
    assert said == {f"hooks.{name}": members(value) for name, value in classes.items()}


def members(of: type) -> list[str]:
    """Public names that the class itself, not one from which it inherits, defines."""
    fields = {field.name for field in dataclasses.fields(of)} if dataclasses.is_dataclass(of) else set()
    return sorted(fields | {name for name in vars(of) if not name.startswith("_")})


CHOSEN = {"ReconnectPolicy", "RetryPolicy"}
"""Of these the parameters are promised, not what they work out."""


def resilient() -> dict[str, type]:
    """What the resilience layer hands out, by name: neither its settings nor its errors nor its outcomes."""
    classes = {name: getattr(resilience, name) for name in resilience.__all__ if name not in CHOSEN}
    return {
        name: value
        for name, value in classes.items()
        if inspect.isclass(value) and not issubclass(value, (BaseException, str))
    }


def test_the_members_of_what_the_resilience_layer_hands_out_are_these() -> None:
    said = {ticked(row[0])[0]: ticked(row[1]) for row in table("Python", 3)}
    assert said == {f"resilience.{name}": members(value) for name, value in resilient().items()}


def test_the_parameters_of_every_method_of_the_resilience_layer_stand_on_the_page() -> None:
    methods = {
        f"resilience.{name}.{member}"
        for name, value in resilient().items()
        for member in members(value)
        if inspect.isfunction(vars(value).get(member))
    }
    assert methods - {ticked(row[0])[0] for row in table("Python", 1)} == set()


def test_the_page_says_what_each_state_means() -> None:
    (text,) = re.findall(r"^States: .*?\n\n", section("Metrics"), re.DOTALL | re.MULTILINE)
    assert set(ticked(text)) == {*names.CONNECTOR_STATES, "missing"}


def test_the_parameters_of_every_method_that_a_host_reports_with_stand_on_the_page() -> None:
    methods = {
        f"hooks.{name}.{member}"
        for name, value in vars(hooks).items()
        if name in {"Attempt", "Breaker", "Call"}
        for member in members(value)
        if inspect.isfunction(vars(value)[member])
    }
    assert methods - {ticked(row[0])[0] for row in table("Python", 1)} == set()


def test_what_the_budget_allows_is_what_the_page_says() -> None:
    from otel_mcp._ground import labels

    (text,) = re.findall(r"^\*\*Label budget\.\*\*.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    for number in (labels.MAX_CONNECTORS, labels.MAX_METHODS, labels.MAX_LOCKS, labels.MAX_ERROR_TYPES):
        assert re.search(rf"\b{number}\b", text)
    assert labels.MAX_SETS < 1800 < 2000


def test_a_checker_that_reads_tables_reads_these() -> None:
    """The parser above is trusted by every other test here, so it is looked at itself."""
    text = "| a | since |\n|---|---|\n| `x` and `y` | 0.1 |\n\n| b | c | since |\n|---|---|---|\n| | `z` | - |\n"
    assert tables(text) == [
        (["a", "since"], [["`x` and `y`", "0.1"]]),
        (["b", "c", "since"], [["", "`z`", "-"]]),
    ]
