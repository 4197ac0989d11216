"""The Prometheus text format, written quickly.

prometheus_client's own encoders check and escape every label of every line anew, although the exporter has checked the
names already and the same few hundred labels come again on thousands of lines. With 200 connectors that was two thirds
of a scrape's time, and more in the OpenMetrics format that Prometheus prefers when it is offered both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Every Prometheus accepts it. OpenMetrics adds nothing here: the exporter gives neither exemplars nor times."""

_SUFFIXES: Final = {"counter": "_total", "info": "_info"}
_TYPES: Final = {"info": "gauge"}
_ESCAPED: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def encode(registry: CollectorRegistry) -> bytes:
    """Everything in a registry that only the OpenTelemetry exporter fills, as one page of text.

    Gauges, counters, histograms and the target's info, with names that the exporter has made valid: nothing else is in
    such a registry.
    """
    return "".join(_lines(registry.collect())).encode()


def _lines(families: Iterable[Metric]) -> Iterator[str]:
    from prometheus_client.utils import floatToGoString

    number: Callable[[float], str] = floatToGoString
    labels = _Labels()
    for family in families:
        name = family.name + _SUFFIXES.get(family.type, "")
        text = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
        yield f"# HELP {name} {text}\n# TYPE {name} {_TYPES.get(family.type, family.type)}\n"
        for sample in family.samples:
            yield f"{sample.name}{labels.text(sample.labels)} {number(sample.value)}\n"


class _Labels:
    """The labels of a line as text; each pair is escaped once a page."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], str] = {}

    def text(self, labels: dict[str, str]) -> str:
        if not labels:
            return ""
        try:
            return f"{{{','.join(map(self._pairs.__getitem__, labels.items()))}}}"
        except KeyError:
            for name, value in labels.items():
                self._pairs[name, value] = f'{name}="{value.translate(_ESCAPED)}"'
            return self.text(labels)
