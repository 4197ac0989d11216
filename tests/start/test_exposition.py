"""Our text page says what prometheus_client's own encoder says of the same registry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, Gauge, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from otel_mcp._start.exposition import encode

NASTY = ['a "quoted" name', "back\\slash", "two\nlines", "", "\u202egnirts", 'ends in \\"', "{x=1} 2"]


@pytest.fixture
def served() -> Iterator[tuple[Meter, CollectorRegistry]]:
    registry = CollectorRegistry()
    provider = MeterProvider([PrometheusMetricReader(registry=registry)], shutdown_on_exit=False)
    yield provider.get_meter("otel_mcp"), registry
    provider.shutdown()


def parsed(page: bytes) -> list[Metric]:
    return list(text_string_to_metric_families(page.decode()))


def same(registry: CollectorRegistry) -> bool:
    theirs = parsed(generate_latest(registry))
    return bool(theirs) and parsed(encode(registry)) == theirs


@pytest.mark.parametrize("value", [0, 1, 0.1, 1e21, 123456789.5, float("inf"), float("-inf")])
def test_every_kind_of_instrument_is_written_as_prometheus_client_writes_it(
    served: tuple[Meter, CollectorRegistry], value: float
) -> None:
    meter, registry = served
    meter.create_counter("kept.count", "{call}", 'A "count" \\ of\nlines').add(max(value, 0), {"otel_mcp.x": "y"})
    meter.create_up_down_counter("kept.level", "s", "How full").add(value)
    Gauge("kept_as_it_is", "Newer SDKs take finite numbers only", registry=registry).set(value)
    meter.create_histogram("kept.time", "s", "How long").record(value, {"z": True, "le_or_not": "1"})
    assert same(registry)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(label=st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(NASTY))
def test_a_label_of_any_text_reads_as_it_was(served: tuple[Meter, CollectorRegistry], label: str) -> None:
    meter, registry = served
    meter.create_up_down_counter("kept.named", description="Named").add(1, {"name": label})
    (family,) = [family for family in parsed(encode(registry)) if family.name == "kept_named"]
    assert label in {sample.labels["name"] for sample in family.samples}
    assert same(registry)
