"""A wrong value of any variable is one line each, and the rest works."""

import re
from pathlib import Path

import pytest

from harness.wrong_values import ANYTHING_GOES, NOWHERE, PROPAGATORS, TOGETHER, TURNING_OFF, lines, values
from otel_mcp._hosts import registry

CONFIGURATION = Path(__file__).parents[2] / "docs" / "configuration.md"
EVERY_SIGNAL = """
from opentelemetry._logs import LogRecord
ensure_started()
if bound["metrics"] is not None:
    count()
if bound["traces"] is not None:
    bound["traces"].get_tracer("otel_mcp").start_span("tools/call add").end()
bound["logs"].get_logger("otel_mcp").emit(LogRecord(timestamp=1, event_name="otel_mcp.call"))
if recorder.call_log is not None:
    recorder.call_log.put("call", 0, "odoo", "stdio", {"id": "1"})
print(runtime.in_force()["endpoint"] is not None and "test_calls_total 1.0" in scrape())
"""


def said(ended):
    """The lines without ports, and without the one that tells of the default port's being another process'."""
    return sorted(re.sub(r":\d{4,5}\b", ":#", line) for line in ended.lines if not line.startswith("port 9464 is"))


def test_every_variable_of_the_configuration_page_has_a_wrong_value_here_or_none_is_wrong():
    first_cells = " ".join(re.findall(r"^\| (.*?) \|", CONFIGURATION.read_text(), re.MULTILINE))
    assert set(re.findall(r"OTEL_[A-Z_]+", first_cells)) - {*TOGETHER, *TURNING_OFF, *ANYTHING_GOES} == {
        "OTEL_PROPAGATORS",
        "OTEL_EXPORTER_OTLP_ENDPOINT",  # one signal's in TURNING_OFF: with all there would be nothing left to see
    }


def test_wrong_values_of_all_variables_at_once_are_one_line_each_and_everything_is_sent_and_served(child, collector):
    receiver = collector()
    wrong = {**TOGETHER, "OTEL_PROPAGATORS": PROPAGATORS}
    ended = child(EVERY_SIGNAL, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint, **values(wrong))
    assert (ended.code, ended.out) == (0, "True\n"), ended.err
    lost = f"call log '{NOWHERE}/calls.jsonl': 1 event was not written"
    assert said(ended) == sorted([*lines(wrong), lost])
    assert sorted(request["signal"] for request in receiver.taken()) == ["logs", "metrics", "traces"]
    assert {request["headers"].get("a") for request in receiver.taken()} == {"1"}


def test_wrong_values_that_turn_something_off_are_one_line_each_and_what_is_left_works(child, collector):
    receiver = collector()
    ended = child(
        EVERY_SIGNAL,
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_TRACES_SAMPLER="traceidratio",
        **values(TURNING_OFF),
    )
    assert (ended.code, ended.out) == (0, "False\n"), ended.err
    assert sorted(ended.lines) == sorted(lines(TURNING_OFF))
    assert [request["signal"] for request in receiver.taken()] == ["logs"]


def test_a_host_that_there_is_no_adapter_for_is_one_line_once_mcp_is_imported(child):
    ended = child("import otel_mcp, mcp; otel_mcp.instrument()", prelude=False, OTEL_MCP_HOSTS="hermez")
    [line] = ended.lines
    assert line.startswith("OTEL_MCP_HOSTS names 'hermez', for which there is no adapter; there are: agent_framework, ")
    assert line.endswith("; no other adapter is used; is hermes meant?")


@pytest.mark.parametrize(
    ("wanted", "end"),
    [
        ({"langchain"}, "; no other adapter is used; is langchain_mcp_adapters meant?"),
        ({"agno", "hermes", "nobody"}, "; no adapter but agno, hermes is used"),
    ],
)
def test_what_is_said_of_a_host_without_adapter_names_what_is_used_and_what_may_be_meant(wanted, end):
    [line] = registry.unknown(frozenset(wanted))
    assert line.endswith(end)


def test_without_a_known_propagator_a_request_goes_out_as_it_is(child):
    ended = child(
        """
        from otel_mcp._ground.guard import internal_errors
        from otel_mcp._sdk import v1
        print(v1._carrier(), internal_errors())
        """,
        OTEL_PROPAGATORS="pigeon",
    )
    assert (ended.code, ended.out) == (0, "None {}\n")
