"""Variables of the environment hold anything: one clear line at most for each, and no secret in it."""

from __future__ import annotations

import os
from unittest import mock

import pytest
from foreign.drawing import SECRET
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_mcp._ground.catalogue import VARIABLES
from otel_mcp._ground.settings import Settings
from otel_mcp._ground.text import without_secrets
from otel_mcp._start import exporters, notices, standard
from otel_mcp._start.runtime import service_name
from otel_mcp._start.signals import SIGNALS

OF_OPENTELEMETRY = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "OTEL_EXPORTER_PROMETHEUS_PORT",
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_TRACES_EXPORTER",
    "OTEL_METRICS_EXPORTER",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BLRP_SCHEDULE_DELAY",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
)
USUAL = (
    "otlp",
    "console",
    "none",
    "http/protobuf",
    "grpc",
    "gzip",
    "traceidratio",
    "0",
    "1",
    "-1",
    "nan",
    "1e400",
    "9" * 5000,
)
# What an environment can hold: bytes that are no UTF-8 arrive as lone surrogates, and a NUL cannot arrive.
values = (
    st.sampled_from(USUAL)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    | st.binary(max_size=20).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
)


def said_about(environ: dict[str, str]) -> list[str]:
    """What start-up says, without starting: everything that reads variables is asked."""
    with mock.patch.dict(os.environ, environ), notices.overheard() as said:
        exporters.rehearse()
        for signal in SIGNALS:
            protocol = standard.otlp_protocol(signal)
            standard.otlp_endpoint_is_usable(signal, protocol)
            standard.check_headers(signal)
        standard.port("OTEL_EXPORTER_PROMETHEUS_PORT", 9464)
        exporters.make_resource(service_name(os.environ), "instance")
        for complaint in Settings.from_environment().complaints:
            notices.say(complaint)
    return said


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(environ=st.dictionaries(st.sampled_from((*OF_OPENTELEMETRY, *VARIABLES)), values, max_size=6))
def test_no_value_raises_and_each_complaint_is_one_short_printable_line(environ: dict[str, str]) -> None:
    for line in said_about(environ):
        assert line.isprintable()
        assert len(line) < 1000


@pytest.mark.parametrize(
    "endpoint",
    [
        f"user:{SECRET}@collector:4318",
        f"htp://user:{SECRET}@collector:4318",
        f"http://user:{SECRET}@collector:99999",
        f"//{SECRET}@collector",
        f"collector?token={SECRET}",
        f"collector#{SECRET}",
    ],
)
def test_a_bad_endpoint_is_named_without_user_password_and_query(endpoint: str) -> None:
    (line, *_) = said_about({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "none"})
    assert "collector" in line
    assert SECRET not in line


@pytest.mark.parametrize("password", ["pa/{}", "pa#{}", "pa?{}", "{}/ss", "{}@x"])
def test_a_password_that_breaks_the_endpoint_is_not_shown(password: str) -> None:
    endpoint = f"http://user:{password.format(SECRET)}@127.0.0.1:1"
    assert not [line for line in said_about({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}) if SECRET in line]


@pytest.mark.parametrize(
    "headers", [f"authorization {SECRET}", f"a=b,{SECRET}", f"={SECRET}%0A", f"x=Bearer {SECRET}\n"]
)
def test_of_bad_headers_the_place_is_named_and_no_text(headers: str) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": headers}
    assert not [line for line in said_about(environ) if SECRET in line]


@given(st.text(max_size=30), st.text(max_size=30))
def test_what_stands_before_the_at_sign_of_an_authority_is_shown_nowhere(user: str, rest: str) -> None:
    for scheme in ("", "http://", "x+y://"):
        shown = without_secrets(f"{scheme}{user}{SECRET}@{rest}")
        assert SECRET not in shown
        assert shown.isprintable()
