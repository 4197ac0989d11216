"""Whose providers: the program's own, per signal, whenever it sets them."""

import json


def test_providers_set_before_the_start_are_used_and_nothing_private_is_made(child):
    ended = child("""
        from opentelemetry import _logs, metrics, trace
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider
        own = TracerProvider(), MeterProvider(), LoggerProvider()
        trace.set_tracer_provider(own[0]); metrics.set_meter_provider(own[1]); _logs.set_logger_provider(own[2])
        before = threading.active_count()
        ensure_started()
        assert bound.all() == own
        assert runtime.in_force() == {"traces": "own", "metrics": "own", "logs": "own", "endpoint": None}
        assert threading.active_count() == before
    """, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")  # fmt: skip
    assert (ended.code, ended.err) == (0, "")


def test_each_signal_is_decided_for_itself(child):
    ended = child("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        own = TracerProvider()
        trace.set_tracer_provider(own)
        ensure_started()
        assert bound["traces"] is own
        del (where := runtime.in_force())["endpoint"]
        print(where)
    """)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "{'traces': 'own', 'metrics': 'private', 'logs': 'none'}\n"


def test_a_private_provider_never_becomes_the_global_one(child):
    ended = child("""
        from opentelemetry import metrics, trace
        ensure_started()
        recorder.before_attempt()
        assert trace._TRACER_PROVIDER is None and metrics._internal._METER_PROVIDER is None
        from opentelemetry.sdk.metrics import MeterProvider
        own = MeterProvider()
        metrics.set_meter_provider(own)
        assert metrics.get_meter_provider() is own
    """)
    assert (ended.code, ended.err) == (0, "")


def test_providers_set_after_the_start_take_over_at_the_next_attempt(child, collector, tmp_path):
    receiver = collector()
    targets = tmp_path / "targets"
    targets.mkdir()
    ended = child(
        """
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        ensure_started()
        address = runtime.in_force()["endpoint"]
        count()
        bound["traces"].get_tracer("otel_mcp").start_span("before").end()

        own_tracer, own_meter = TracerProvider(), MeterProvider([InMemoryMetricReader()])
        trace.set_tracer_provider(own_tracer)
        recorder.before_attempt()
        assert bound["traces"] is own_tracer
        scrape()
        metrics.set_meter_provider(own_meter)
        recorder.before_attempt()
        assert bound["metrics"] is own_meter
        del (where := runtime.in_force())["endpoint"]
        assert where == {"traces": "own", "metrics": "own", "logs": "private"}, where
        for _ in range(200):
            try:
                scrape(address)
            except OSError:
                print(address)
                break
        recorder.before_attempt()
        assert bound["metrics"] is own_meter
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_MCP_TARGETS=str(targets),
    )
    assert ended.code == 0, ended.err
    address = ended.out.strip()
    assert ended.lines == [
        f"the program has set its own meter provider: metrics go there, and the endpoint on {address} is closed"
    ]
    assert [request["items"] for request in receiver.taken("traces")] == [["before"]]
    assert [request["items"] for request in receiver.taken("metrics")] == [["test.calls"]]
    assert list(targets.iterdir()) == []


def test_providers_given_by_code_come_before_the_global_ones(child):
    ended = child("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        mine, globally = TracerProvider(), TracerProvider()
        runtime.use_providers({"traces": mine, "metrics": None})
        trace.set_tracer_provider(globally)
        ensure_started()
        assert bound["traces"] is mine
        other = TracerProvider()
        runtime.use_providers({"traces": other})
        assert bound["traces"] is other
        recorder.before_attempt()
        assert bound["traces"] is other
        assert runtime.in_force()["metrics"] == "private"
    """)
    assert (ended.code, ended.err) == (0, "")


def test_the_programs_own_providers_are_left_running_at_the_end(child):
    ended = child("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
        class Printing(SpanExporter):
            def export(self, spans):
                print([span.name for span in spans])
                return SpanExportResult.SUCCESS
        own = TracerProvider()
        own.add_span_processor(SimpleSpanProcessor(Printing()))
        trace.set_tracer_provider(own)
        ensure_started()
        runtime.stop()
        own.get_tracer("program").start_span("still here").end()
    """)
    assert (ended.code, ended.out, ended.err) == (0, "['still here']\n", "")


def test_a_process_names_its_endpoint_in_the_targets_folder_while_it_lives(child, tmp_path):
    dead = tmp_path / "otel-mcp-elsewhere-1.json"
    dead.write_text("[]")
    ended = child(
        """
        from pathlib import Path
        import socket
        gone = Path(f"otel-mcp-{socket.gethostname()}-4194999.json")  # above any pid that Linux gives
        gone.write_text("[]")
        ensure_started()
        [own] = [path for path in Path().glob("*.json") if str(os.getpid()) in path.name]
        print(own.read_text().replace(runtime.in_force()["endpoint"], "ADDRESS").replace(str(os.getpid()), "PID"))
        assert not gone.exists()
        """,
        OTEL_MCP_TARGETS=str(tmp_path),
        OTEL_SERVICE_NAME="night agent",
    )
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == [
        {"targets": ["ADDRESS"], "labels": {"service": "night agent", "__meta_otel_mcp_pid": "PID"}}
    ]
    assert [path.name for path in tmp_path.iterdir()] == [dead.name], "another machine's entry is not ours to remove"


def test_a_targets_folder_that_is_missing_is_one_line(child, tmp_path):
    ended = child("ensure_started(); print(runtime.in_force()['endpoint'])", OTEL_MCP_TARGETS=str(tmp_path / "missing"))
    assert ended.code == 0
    assert ended.lines == [
        f"OTEL_MCP_TARGETS={str(tmp_path / 'missing')!r} cannot be written (No such file or directory); "
        f"Prometheus has to be told of {ended.out.strip()} another way"
    ]


def test_a_view_that_makes_our_histograms_exponential_does_not_cost_the_programs_scrape(child):
    ended = child(
        """
        import prometheus_client
        from opentelemetry import metrics
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.sdk.metrics import Histogram, MeterProvider
        from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
        from otel_mcp._ground import catalogue
        from otel_mcp._record.gathered import Series
        exponential = View(instrument_type=Histogram, aggregation=ExponentialBucketHistogramAggregation())
        metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()], views=[exponential]))
        metrics.get_meter("program").create_counter("mine").add(1)
        import mcp, otel_mcp
        otel_mcp.instrument()
        ensure_started()
        recorder.metrics.record(Series(catalogue.LATE_RESPONSE_DELAY.name, {}), 1.0)
        page = prometheus_client.generate_latest().decode()
        print("mine_total{" in page, "otel_mcp_hooks{" in page, "late_response" in page)
        """
    )
    assert (ended.code, ended.out) == (0, "True True False\n"), ended.err
    assert ended.lines == [
        "the program's meter provider has a view that makes our histograms exponential, which its Prometheus exporter "
        "cannot show: a scrape would fail, so they stay empty (let the view name the meters it is for)"
    ]


def test_a_view_for_other_histograms_or_without_a_prometheus_exporter_changes_nothing(child):
    ended = child(
        """
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
        from otel_mcp._ground import catalogue
        from otel_mcp._record.gathered import Series
        def seen(reader, **of):
            view = View(aggregation=ExponentialBucketHistogramAggregation(), **of)
            runtime.use_providers({"metrics": MeterProvider([reader], views=[view])})
            ensure_started()
            recorder.metrics.record(Series(catalogue.LATE_RESPONSE_DELAY.name, {}), 1.0)
        import prometheus_client
        seen(PrometheusMetricReader(), meter_name="program")
        print("late_response_delay_seconds_count" in prometheus_client.generate_latest().decode())
        reader = InMemoryMetricReader()
        seen(reader, instrument_name="*")
        print("ExponentialHistogram" in repr(reader.get_metrics_data()))
        """
    )
    assert (ended.code, ended.out, ended.err) == (0, "True\nTrue\n", "")
