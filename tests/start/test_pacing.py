"""An export leaves the program its turn."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_mcp._start import pacing
from otel_mcp._start.quiet import quiet


class Exporter:
    """Takes a batch as OpenTelemetry's own do: its length, and once through it."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def export(self, batch: Any) -> int:
        self.taken.extend(batch)
        return len(batch)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seen: list[float] = []
    monkeypatch.setattr(pacing.time, "sleep", seen.append)
    return seen


@pytest.mark.parametrize(("spans", "expected"), [(0, 0), (8, 0), (9, 1), (512, 63)])
def test_a_batch_arrives_whole_and_in_order_with_a_pause_after_every_eight(
    pauses: list[float], spans: int, expected: int
) -> None:
    exporter = quiet(Exporter, "traces", pacing.paced)()
    assert exporter.export(list(range(spans))) == spans
    assert exporter.taken == list(range(spans))
    assert pauses == [pacing.PAUSE] * expected


def test_metrics_are_encoded_as_they_would_be_with_a_pause_between_two(pauses: list[float]) -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test")
    for name in ("one", "two", "three"):
        meter.create_counter(name).add(1)
    data: Any = reader.get_metrics_data()
    assert encode_metrics(pacing.paced(data)) == encode_metrics(data)
    assert pauses == [pacing.PAUSE] * 2


def test_a_metric_of_many_points_pauses_among_them(pauses: list[float]) -> None:
    reader = InMemoryMetricReader()
    histogram = MeterProvider([reader], shutdown_on_exit=False).get_meter("test").create_histogram("one")
    for number in range(17):
        histogram.record(1.0, {"connector": str(number)})
    data: Any = reader.get_metrics_data()
    assert encode_metrics(pacing.paced(data)) == encode_metrics(data)
    assert pauses == [pacing.PAUSE] * 2


def test_what_is_no_batch_passes_as_it_is() -> None:
    data = object()
    assert pacing.paced(data) is data
