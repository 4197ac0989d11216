"""What is open now, read from a scrape endpoint."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Final

from otel_mcp._cli.top_model import Picture, Row, Unreadable
from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n

_TIMEOUT: Final = 5.0
"""Seconds for a scrape; an endpoint on this machine answers in milliseconds."""


class Endpoint:
    """A `/metrics` endpoint. It knows connectors, phases and methods, but no single call: labels are bounded."""

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else f"http://{url}"
        if self.url.count("/") < 3:
            self.url += "/metrics"

    def look(self) -> Picture:
        """One scrape."""
        gauges = _Gauges(self._fetch(), self.url)
        rows = [*gauges.calls(), *gauges.requests()]
        return Picture(self.url, tuple(sorted(rows, key=lambda row: -row.age)), gauges.states())

    def _fetch(self) -> str:
        if not self.url.startswith(("http://", "https://")):
            raise Unreadable(f"{self.url} is not an http or https address")
        try:
            with urllib.request.urlopen(self.url, timeout=_TIMEOUT) as answer:  # noqa: S310 - checked above
                text: str = answer.read().decode("utf-8", "replace")
                return text
        except (OSError, urllib.error.URLError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unreadable(
                f"{self.url} does not answer ({reason}); is the watched program running, and is this its endpoint?"
            ) from error


class _Gauges:
    def __init__(self, text: str, url: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        wanted = {row.prometheus for row in (c.CALL_OLDEST_AGE, c.REQUEST_OLDEST_AGE, c.REQUEST_ACTIVE, c.LIMIT,
                                             c.CONNECTOR_STATE, c.LOCK_WAITING, c.CALL_OVERDUE, c.HOOKS)}  # fmt: skip
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        try:
            for family in text_string_to_metric_families(text):
                if family.name in wanted:
                    samples = [(_whole(sample.labels), float(sample.value)) for sample in family.samples]
                    self._samples[family.name] = [sample for sample in samples if math.isfinite(sample[1])]
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # the parser's, for what is no metrics
            raise Unreadable(f"{url} does not serve Prometheus metrics ({error})") from error
        if not self._samples:
            raise Unreadable(f"{url} serves no metrics of otel_mcp; is it another program's endpoint?")

    def _of(self, row: c.Instrument) -> list[tuple[dict[str, str], float]]:
        return self._samples.get(row.prometheus, [])

    def _by_connector(self, row: c.Instrument) -> dict[str, float]:
        return {labels[_CONNECTOR]: value for labels, value in self._of(row)}

    def states(self) -> dict[str, str]:
        return {labels[_CONNECTOR]: labels[_label(n.STATE)] for labels, value in self._of(c.CONNECTOR_STATE) if value}

    def calls(self) -> Iterator[Row]:
        limits, overdue, waiting = (self._by_connector(row) for row in (c.LIMIT, c.CALL_OVERDUE, c.LOCK_WAITING))
        states = self.states()
        for labels, age in self._of(c.CALL_OLDEST_AGE):
            if age > 0:
                name, phase = labels[_CONNECTOR], labels[_label(n.PHASE)]
                limit = limits.get(name)
                note = "overdue" if overdue.get(name) else None
                count = int(waiting.get(name, 0)) if phase == "lock" else None
                yield Row(name, None, None, phase, age, limit or None, None, None, states.get(name), count, note)

    def requests(self) -> Iterator[Row]:
        active = {_pair(labels): int(value) for labels, value in self._of(c.REQUEST_ACTIVE)}
        states = self.states()
        for labels, age in self._of(c.REQUEST_OLDEST_AGE):
            name, method = _pair(labels)
            if age > 0:
                yield Row(name, method, None, None, age, None, None, None, states.get(name), active.get((name, method)))


def _label(attribute: str) -> str:
    return attribute.replace(".", "_")


_CONNECTOR: Final = _label(n.CONNECTOR)
_LABELS: Final = (_CONNECTOR, _label(n.STATE), _label(n.PHASE), _label(n.MCP_METHOD_NAME))


def _whole(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, with those that a foreign endpoint has left out."""
    return {**dict.fromkeys(_LABELS, n.UNKNOWN), **labels}


def _pair(labels: dict[str, str]) -> tuple[str, str]:
    return labels[_CONNECTOR], labels[_label(n.MCP_METHOD_NAME)]
