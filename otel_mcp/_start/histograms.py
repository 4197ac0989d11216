"""The program's own meter provider, where its Prometheus exporter could not show our histograms.

A view of the program's may turn them into exponential ones. OpenTelemetry's Prometheus exporter (0.66b2) raises on the
first point of such a one, and with it the program's whole scrape fails, which worked before we came. There our
histograms stay empty; counters and gauges are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from otel_mcp._start.notices import say


def showable(provider: Any) -> Any:
    """The provider itself, or one that makes those histograms without points; None stays None."""
    config = getattr(provider, "_sdk_config", None)
    readers: Iterable[Any] = getattr(provider, "_metric_readers", ())
    views = [view for view in getattr(config, "views", ()) if _is_exponential(view)]
    return _Provider(provider, views) if views and any(map(_is_prometheus, readers)) else provider


def _is_exponential(view: Any) -> bool:
    aggregation = type(getattr(view, "_aggregation", None)).__name__
    return aggregation == "ExponentialBucketHistogramAggregation" and hasattr(view, "_match")


def _is_prometheus(reader: Any) -> bool:
    return any(kind.__name__ == "PrometheusMetricReader" for kind in type(reader).__mro__)


class _Provider:
    def __init__(self, provider: Any, views: list[Any]) -> None:
        self._provider = provider
        self._views = views

    def get_meter(self, *args: Any, **kwargs: Any) -> _Meter:
        return _Meter(self._provider.get_meter(*args, **kwargs), self._views)


class _Meter:
    def __init__(self, meter: Any, views: list[Any]) -> None:
        self._meter = meter
        self._views = views

    def __getattr__(self, name: str) -> Any:
        return getattr(self._meter, name)

    def create_histogram(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The meter's own, or one that takes no points where a view of the program's would make it exponential."""
        histogram = self._meter.create_histogram(name, *args, **kwargs)
        if not any(view._match(histogram) for view in self._views):
            return histogram
        from opentelemetry.metrics import NoOpHistogram

        say(
            "the program's meter provider has a view that makes our histograms exponential, which its Prometheus "
            "exporter cannot show: a scrape would fail, so they stay empty (let the view name the meters it is for)"
        )
        return NoOpHistogram(name)
