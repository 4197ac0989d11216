"""The standard variables: what goes where, and what is said of a collector that does not take it."""

import sys

import pytest

SPAN = 'bound["traces"].get_tracer("otel_mcp").start_span("tools/call add").end()\n'
LOG = """
from opentelemetry._logs import LogRecord
bound["logs"].get_logger("otel_mcp").emit(LogRecord(timestamp=1, event_name="otel_mcp.call"))
"""
ALL = "ensure_started(); count(); " + SPAN + LOG


def attributes(request, kind):
    resource = request["body"][f"resource{kind}"][0]["resource"]
    return {pair["key"]: next(iter(pair["value"].values())) for pair in resource["attributes"]}


def test_with_an_otlp_endpoint_all_signals_go_there_and_metrics_are_served_too(child, collector):
    receiver = collector()
    ended = child(
        ALL + "assert scrape()",
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20x",
        OTEL_SERVICE_NAME="night agent",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod,service.name=other",
    )
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    taken = {request["signal"]: request for request in receiver.taken()}
    assert {signal: request["items"] for signal, request in taken.items()} == {
        "traces": ["tools/call add"],
        "metrics": ["test.calls"],
        "logs": ["otel_mcp.call"],
    }
    assert {request["headers"]["authorization"] for request in taken.values()} == {"Bearer x"}
    resources = [attributes(taken[signal], f"{kind}") for signal, kind in
                 (("traces", "Spans"), ("metrics", "Metrics"), ("logs", "Logs"))]  # fmt: skip
    assert resources[0] == resources[1] == resources[2]
    assert resources[0]["service.name"] == "night agent"
    assert resources[0]["deployment.environment"] == "prod"
    assert len(resources[0]["service.instance.id"]) == 32


def test_an_endpoint_of_one_signal_configures_that_signal(child, collector):
    receiver = collector()
    ended = child(
        "ensure_started()\n" + SPAN + "assert bound['logs'] is None",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.endpoint}/v1/traces",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.err) == (0, "")
    assert [request["signal"] for request in receiver.taken()] == ["traces"]


@pytest.mark.parametrize(("preference", "kind"), [("delta", "DELTA"), ("cumulative", "CUMULATIVE")])
def test_metrics_have_the_temporality_asked_for_over_otlp_and_the_scrape_stays_cumulative(
    child, collector, preference, kind
):
    receiver = collector()
    ended = child(
        "ensure_started(); count(); count(); assert 'test_calls_total 2.0' in scrape()",
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=preference,
    )
    assert (ended.code, ended.err) == (0, "")
    [request] = receiver.taken("metrics")
    [metric] = request["body"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert metric["sum"]["aggregationTemporality"] == f"AGGREGATION_TEMPORALITY_{kind}"


def test_metrics_exporters_may_be_none(child):
    ended = child("ensure_started(); print(runtime.in_force()['metrics'])", OTEL_METRICS_EXPORTER="none")
    assert (ended.code, ended.out, ended.err) == (0, "none\n", "")


def test_the_console_exporter_writes_to_stderr_because_stdout_is_the_programs(child):
    ended = child(
        ALL,
        OTEL_TRACES_EXPORTER="console",
        OTEL_METRICS_EXPORTER="console",
        OTEL_LOGS_EXPORTER="console",
    )
    assert (ended.code, ended.out) == (0, "")
    for text in ("tools/call add", "test.calls", "otel_mcp.call"):
        assert text in ended.err


SAMPLERS = [
    ("always_off", None, False), ("traceidratio", "0", False), ("parentbased_always_on", None, True),
    ("traceidratio", "1", True), ("parentbased_traceidratio", "0", False), ("always_on", None, True),
]  # fmt: skip
"""With their argument: whether a span is sent."""


def test_the_sampler_asked_for_decides(child, collector):
    """One child starts and stops for each."""
    receiver = collector()
    ended = child(
        f"""
        for sampler, argument, _ in {SAMPLERS}:
            os.environ["OTEL_TRACES_SAMPLER"] = sampler
            os.environ["OTEL_TRACES_SAMPLER_ARG"] = argument or ""
            ensure_started()
            bound["traces"].get_tracer("otel_mcp").start_span(f"{{sampler}} {{argument}}").end()
            runtime.stop()
        """,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.endpoint}/v1/traces",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.err) == (0, "")
    taken = [name for request in receiver.taken("traces") for name in request["items"]]
    assert taken == [f"{sampler} {argument}" for sampler, argument, sent in SAMPLERS if sent]


def test_grpc_without_its_package_is_one_line_with_the_remedy(child):
    ended = child(
        """
        sys.modules["opentelemetry.exporter.otlp.proto.grpc"] = None  # as if it were not installed
        ensure_started()
        print(runtime.in_force()["traces"])
        """,
        OTEL_TRACES_EXPORTER="otlp",
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
    )
    assert (ended.code, ended.out) == (0, "none\n")
    assert ended.lines == [
        "OTLP over gRPC was asked for and opentelemetry-exporter-otlp-proto-grpc is not installed; traces are not "
        "exported (install it, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and the endpoint's HTTP port)"
    ]


@pytest.mark.parametrize("module", ["opentelemetry.exporter.prometheus", "prometheus_client"])
def test_a_prometheus_exporter_that_is_missing_is_one_line(child, module):
    ended = child(f"""
        sys.modules[{module!r}] = None  # as if it were not installed
        ensure_started()
        print(runtime.in_force()["metrics"])
    """)
    assert (ended.code, ended.out) == (0, "none\n")
    assert ended.lines == [f"no Prometheus endpoint: {module} is missing (install opentelemetry-exporter-prometheus)"]


def test_a_collector_that_is_not_there_is_one_line_a_signal_however_often_it_fails(child):
    ended = child(
        "ensure_started()\n"
        "import logging; logging.basicConfig(stream=sys.stdout)\n"
        f"for _ in range(3000): {SPAN}"
        "print('the program')\n",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://user:secret@127.0.0.1:9/v1/traces",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.out) == (0, "the program\n")
    first, last = ended.lines
    assert first in (
        "traces cannot be sent to http://127.0.0.1:9/v1/traces (Connection refused); the program goes on, this is said "
        "once",
        "traces cannot be sent (Queue full, dropping Span.); the program goes on, this is said once",
    )
    assert last == "the last telemetry could not be sent within the 2 s of an exit and is lost"


def test_what_the_sdk_logs_about_the_programs_own_providers_is_left_alone(child):
    ended = child(
        """
        import logging; logging.basicConfig(stream=sys.stdout, format="%(name)s")
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
        class Failing(SpanExporter):
            def export(self, spans):
                raise RuntimeError("of the program")
        ensure_started()
        own = TracerProvider(shutdown_on_exit=False)
        own.add_span_processor(BatchSpanProcessor(Failing()))
        trace.set_tracer_provider(own)
        recorder.before_attempt()
        own.get_tracer("program").start_span("x").end()
        own.shutdown()
        """,
        OTEL_TRACES_EXPORTER="console",
    )
    assert ended.code == 0, ended.err
    assert "opentelemetry.sdk._shared_internal" in ended.out
    assert "of the program" in ended.out


@pytest.mark.skipif(sys.platform == "win32", reason="exit codes of signals")
def test_a_collector_that_answers_with_errors_is_one_line(child, collector):
    receiver = collector("error")
    ended = child(
        "ensure_started()\n" + SPAN,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.endpoint}/v1/traces",
        OTEL_METRICS_EXPORTER="none",
    )
    assert ended.code == 0
    assert ended.lines[0].startswith(f"traces cannot be sent to {receiver.endpoint}/v1/traces (")
