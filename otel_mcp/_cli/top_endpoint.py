"""What is open now, read from one scrape endpoint or from several."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from otel_mcp._cli.top_model import Picture, Row, Unreadable
from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._start import targets

_TIMEOUT: Final = 5.0
"""Seconds for a scrape; an endpoint on this machine answers in milliseconds."""
_WITH_A_REQUEST: Final = frozenset({"write", "wait"})
"""Phases in which a call has a request of its own open. In `validate` it has one of `tools/list`."""


class Endpoint:
    """A `/metrics` endpoint. It knows connectors, phases and methods, but no single call: labels are bounded."""

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else f"http://{url}"
        if self.url.count("/") < 3:
            self.url += "/metrics"

    def look(self) -> Picture:
        """One scrape."""
        gauges = _Gauges(self._fetch(), self.url)
        requests = list(gauges.requests())
        calls, at_least = gauges.count()
        return Picture(
            self.url,
            tuple(sorted([*gauges.calls(), *requests], key=lambda row: -row.age)),
            gauges.states(),
            calls=calls,
            requests=sum(row.count or 1 for row in requests),
            at_least=at_least,
        )

    def _fetch(self) -> str:
        if not self.url.startswith(("http://", "https://")):
            raise Unreadable(f"{self.url} is not an http or https address")
        try:
            with urllib.request.urlopen(self.url, timeout=_TIMEOUT) as answer:  # noqa: S310 - checked above
                text: str = answer.read().decode("utf-8", "replace")
                return text
        except urllib.error.HTTPError as error:
            with error:
                raise Unreadable(f"{self.url} answers {error.code}: {error.reason}") from error
        except (OSError, urllib.error.URLError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unreadable(
                f"{self.url} does not answer ({reason}); is the watched program running, and is this its endpoint?"
            ) from error


class Endpoints:
    """The endpoints that have their entry in a folder of targets; each look asks those that are there by then."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def look(self) -> Picture:
        """One scrape of each. Raises Unreadable if none answers."""
        addresses = targets.addresses(self.folder)
        pictures: dict[str, Picture] = {}
        problem = Unreadable(f"no endpoint of a running program has an entry in {self.folder} (OTEL_MCP_TARGETS)")
        for address in addresses:
            try:
                pictures[address] = Endpoint(address).look()
            except Unreadable as error:
                problem = error
        if not pictures:
            raise problem
        if len(addresses) == 1:
            return pictures[addresses[0]]
        number = str(len(pictures)) if len(pictures) == len(addresses) else f"{len(pictures)} of {len(addresses)}"
        return _together(f"{number} endpoints in {self.folder}", pictures)


def _together(source: str, pictures: Mapping[str, Picture]) -> Picture:
    rows = [
        replace(row, note="; ".join(filter(None, (address, row.note))))
        for address, picture in pictures.items()
        for row in picture.rows
    ]
    return Picture(
        source,
        tuple(sorted(rows, key=lambda row: -row.age)),
        {f"{name} on {address}": state for address, each in pictures.items() for name, state in each.states.items()},
        calls=sum(each.calls for each in pictures.values()),
        requests=sum(each.requests for each in pictures.values()),
        at_least=any(each.at_least for each in pictures.values()),
    )


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
                    # Where a page has lost its TYPE lines each sample is a family.
                    self._samples.setdefault(family.name, []).extend(each for each in samples if math.isfinite(each[1]))
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
        """The oldest call of each phase, with the number of calls in it where that is told."""
        limits, overdue, waiting = (self._by_connector(row) for row in (c.LIMIT, c.CALL_OVERDUE, c.LOCK_WAITING))
        states, phases = self.states(), self._phases
        for labels, age in self._of(c.CALL_OLDEST_AGE):
            if age > 0:
                name, phase = labels[_CONNECTOR], labels[_label(n.PHASE)]
                limit = limits.get(name)
                note = "overdue" if overdue.get(name) else None
                count: int | None = None
                if phase == "lock":
                    count = int(waiting.get(name, 0)) or None
                elif phases[name].intersection(_WITH_A_REQUEST) == {phase}:
                    count = self._asked(name) or None
                yield Row(name, None, None, phase, age, limit or None, None, None, states.get(name), count, note)

    def requests(self) -> Iterator[Row]:
        """The oldest request of each method, but for those that a row of `calls` tells of."""
        states, phases = self.states(), self._phases
        for labels, age in self._of(c.REQUEST_OLDEST_AGE):
            name, method = _pair(labels)
            count = self._active.get((name, method))
            if age > 0 and not _is_told(method, count, phases.get(name, set())):
                yield Row(name, method, None, None, age, None, None, None, states.get(name), count)

    def count(self) -> tuple[int, bool]:
        """How many calls are open, and whether that is only the least: not every phase has a gauge that counts."""
        waiting, total, at_least = self._by_connector(c.LOCK_WAITING), 0, False
        for name, phases in self._phases.items():
            numbers = [int(waiting.get(name, 0))] if "lock" in phases else []
            numbers += [self._asked(name)] if phases & _WITH_A_REQUEST else []
            numbers += [0 for _ in phases - _WITH_A_REQUEST - {"lock"}]
            total += sum(number or 1 for number in numbers)
            at_least = at_least or 0 in numbers
        return total, at_least

    @cached_property
    def _phases(self) -> dict[str, set[str]]:
        """The phases in which each connector has a call."""
        phases: dict[str, set[str]] = {}
        for labels, age in self._of(c.CALL_OLDEST_AGE):
            if age > 0:
                phases.setdefault(labels[_CONNECTOR], set()).add(labels[_label(n.PHASE)])
        return phases

    @cached_property
    def _active(self) -> dict[tuple[str, str], int]:
        return {_pair(labels): int(value) for labels, value in self._of(c.REQUEST_ACTIVE)}

    def _asked(self, name: str) -> int:
        """Requests of a connector's calls that are open."""
        return sum(self._active.get((name, method), 0) for method in n.CALL_METHODS)


def _is_told(method: str, count: int | None, phases: set[str]) -> bool:
    """Whether these requests are those of calls that have a row of their own."""
    if method in n.CALL_METHODS:
        return not phases.isdisjoint(_WITH_A_REQUEST)
    return method == n.TOOLS_LIST and count == 1 and "validate" in phases


def _label(attribute: str) -> str:
    return attribute.replace(".", "_")


_CONNECTOR: Final = _label(n.CONNECTOR)
_LABELS: Final = (_CONNECTOR, _label(n.STATE), _label(n.PHASE), _label(n.MCP_METHOD_NAME))


def _whole(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, with those that a foreign endpoint has left out."""
    return {**dict.fromkeys(_LABELS, n.UNKNOWN), **labels}


def _pair(labels: dict[str, str]) -> tuple[str, str]:
    return labels[_CONNECTOR], labels[_label(n.MCP_METHOD_NAME)]
