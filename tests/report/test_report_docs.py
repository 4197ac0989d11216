"""docs/report.md says what the command does."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from otel_mcp._report import clock, clusters, conditions, incidents
from otel_mcp._report.command import add_arguments
from otel_mcp._report.model import KINDS

TEXT = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
COMMANDS = sorted(set(re.findall(r"`(otel-mcp report [^`]*)`", TEXT)))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_is_understood(command: str) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    arguments = parser.parse_args(shlex.split(command)[2:])
    assert arguments.files
    conditions.parse(arguments.fail_on)
    clock.zone(arguments.tz)


def test_every_condition_shown_is_one() -> None:
    section = TEXT.split("### Conditions")[1].split("## Read it")[0]
    shown = re.findall(r"^\| (`.*?) \|", section, re.M)
    assert len(shown) == 6
    for text in shown:
        assert conditions.parse(re.findall(r"`([^`]+)`", text))


def test_every_kind_of_finding_is_explained() -> None:
    section = TEXT.split("## Read it")[1].split("## When")[0]
    assert set(KINDS) <= set(re.findall(r"`(\w+)`", section))


def test_the_numbers_in_the_text_are_those_in_the_code() -> None:
    assert (clusters.MIN_CALLS, clusters.MIN_STRATA, clusters.MIN_LIFT) == (20, 3, 2.0)
    assert (clock.SLOT, incidents.DOWN, incidents.GAP * clock.SLOT, incidents.MIN_DEADLINES) == (300, 0.5, 1800, 5)
