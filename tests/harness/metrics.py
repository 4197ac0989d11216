"""A scrape, parsed."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Point:
    name: str
    labels: dict[str, str]
    value: float


class Scrape:
    """The points of one scrape; names and labels as Prometheus spells them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.points = [
            Point(sample.name, dict(sample.labels), sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]

    def matching(self, name: str, **labels: str) -> Iterator[Point]:
        wanted = labels.items()
        return (point for point in self.points if point.name == name and wanted <= point.labels.items())

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the one point that has these labels, ``None`` without one.

        Raises:
            AssertionError: several points have them.
        """
        found = list(self.matching(name, **labels))
        if len(found) > 1:
            raise AssertionError(f"{name} {labels}: {len(found)} points: {found}")
        return found[0].value if found else None

    def total(self, name: str, **labels: str) -> float:
        return sum(point.value for point in self.matching(name, **labels))

    def names(self) -> set[str]:
        return {point.name for point in self.points}


def scrape(address: str | int) -> Scrape:
    """``address``: a URL, or the port of an endpoint on loopback."""
    url = address if isinstance(address, str) else f"http://127.0.0.1:{address}/metrics"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return Scrape(answer.read().decode("utf-8"))
