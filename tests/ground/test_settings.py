"""Variables: what they mean, and the one sentence for a value that cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_mcp._ground.catalogue import VARIABLES
from otel_mcp._ground.settings import Settings

read = Settings.from_environment


def test_nothing_set_is_the_defaults_without_a_complaint() -> None:
    assert read({}) == Settings()
    assert read({}).complaints == ()


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("blank", ["", "   "])
def test_a_blank_value_is_as_good_as_none(name: str, blank: str) -> None:
    settings = read({name: blank})
    assert settings == Settings()
    assert settings.complaints == ()


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("TRUE", True), ("false", False), ("0", False)]
)
def test_a_switch_reads_the_usual_words(text: str, value: bool) -> None:
    assert read({"OTEL_MCP_ENABLED": text}).enabled is value
    assert read({"OTEL_MCP_SPANS": text}).spans is value


def test_names_of_connectors_are_split_at_the_first_equals_sign() -> None:
    settings = read({"OTEL_MCP_CONNECTORS": "odoo = *odoo-mcp*;shop=https://shop.example/mcp?a=b ; "})
    assert settings.connectors == (("odoo", "*odoo-mcp*"), ("shop", "https://shop.example/mcp?a=b"))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("auto", None), ("none", frozenset()), ("hermes, openai-agents", frozenset({"hermes", "openai_agents"}))],
)
def test_hosts_are_auto_none_or_a_list(text: str, hosts: frozenset[str] | None) -> None:
    assert read({"OTEL_MCP_HOSTS": text}).hosts == hosts


def test_numbers_are_read() -> None:
    settings = read({"OTEL_MCP_STILL_WAITING": "2.5", "OTEL_MCP_TOOL_LABELS": "0"})
    assert (settings.still_waiting, settings.tool_labels) == (2.5, 0)


def test_only_true_disables_the_sdk_as_opentelemetry_has_it() -> None:
    assert [read({"OTEL_SDK_DISABLED": text}).sdk_disabled for text in ("true", "TRUE", "1", "yes")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("OTEL_MCP_ENABLED", "maybe", "false"),
        ("OTEL_MCP_STILL_WAITING", "0", "30"),
        ("OTEL_MCP_STILL_WAITING", "soon", "30"),
        ("OTEL_MCP_STILL_WAITING", "inf", "30"),
        ("OTEL_MCP_TOOL_LABELS", "-1", "200"),
        ("OTEL_MCP_TOOL_LABELS", "many", "200"),
        ("OTEL_MCP_HOSTS", "hermes;adk", "auto"),
        ("OTEL_MCP_HOSTS", "auto,hermes", "auto"),
    ],
)
def test_a_bad_value_is_one_sentence_with_variable_value_and_what_is_used(name: str, value: str, instead: str) -> None:
    settings = read({name: value})
    assert settings == Settings()
    (complaint,) = settings.complaints
    assert complaint.startswith(f"{name}={value!r} is not ")
    assert "\n" not in complaint
    assert complaint.endswith(f"; using {instead} instead")


def test_auto_and_none_are_said_to_stand_alone() -> None:
    (complaint,) = read({"OTEL_MCP_HOSTS": "hermes,none"}).complaints
    assert "auto and none stand alone" in complaint


@pytest.mark.parametrize(
    ("value", "kept", "complaint"),
    [
        ("crm=*crm*;=x", 1, "entry 2 ('=x') is not of the form name=glob; it is left out"),
        ("odoo; ;crm=*crm*;shop=", 1, "entry 1 ('odoo') and 1 more are not of the form name=glob; they are left out"),
        ("odoo", 0, "entry 1 ('odoo') is not of the form name=glob; it is left out"),
    ],
)
def test_entries_of_another_form_are_left_out_and_the_others_kept(value: str, kept: int, complaint: str) -> None:
    settings = read({"OTEL_MCP_CONNECTORS": value})
    assert settings.connectors == (("crm", "*crm*"),)[:kept]
    assert settings.complaints == (f"OTEL_MCP_CONNECTORS: {complaint}",)


@given(st.dictionaries(st.sampled_from(VARIABLES), st.text()))
def test_no_value_raises(environ: dict[str, str]) -> None:
    settings = read(environ)
    assert len(settings.complaints) <= len(environ)
    assert all(len(complaint) < 400 and complaint.isprintable() for complaint in settings.complaints)
