"""Scrapes of our endpoint and of prometheus_client alone, by turns, while an event loop measures how late it wakes.

Answers ``{"connectors": …, "tools": …, "open": …, "rounds": …}``. The connectors are entries in the ledger, opened as
the SDK's wrapper opens them, without servers: a scrape reads nothing else. The registry beside it holds as many lines,
as plain gauges with two short labels. A scrape is done over HTTP by another thread of the same process.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from wsgiref.simple_server import WSGIServer

from channel import answer, questions
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Transport
from otel_mcp._observe import attempts, calls, sessions
from otel_mcp._record.recorder import recorder
from otel_mcp._start.endpoint import open_endpoint

TICK = 0.005
"""Seconds between two wake-ups of the loop that is measured."""
PER_FAMILY = 2000
"""Lines of one plain gauge, about what our largest family has at the full budget."""
ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
"""As Prometheus asks."""


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds; the lag is the worst seen."""

    milliseconds: float
    size: int
    lag: float


def measure(asked: dict[str, int]) -> dict[str, Any]:
    """One row."""
    ours, close_ours = _our_endpoint(asked)
    lines = sum(not line.startswith(b"#") for line in _get(ours).splitlines())
    plain, close_plain = _plain_endpoint(lines)
    mine, theirs = asyncio.run(_measure(ours, plain, asked["rounds"]))
    close_ours()
    close_plain()
    return {"lines": lines, "ours": vars(mine), "plain": vars(theirs)}


def _our_endpoint(asked: dict[str, int]) -> tuple[str, Callable[[], None]]:
    ledger.reset()
    os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"] = "0"
    endpoint = open_endpoint()
    assert endpoint is not None
    provider = MeterProvider([endpoint.reader], shutdown_on_exit=False)
    recorder.bind_meter_provider(provider)
    _fill(**asked)

    def close() -> None:
        endpoint.close()
        recorder.bind_meter_provider(None)
        provider.shutdown()

    return f"http://{endpoint.address}/metrics", close


def _fill(connectors: int, tools: int, open: int, rounds: int) -> None:  # noqa: A002
    """Each connector: a session, on each tool calls that ended in four ways, and so many calls that are open."""
    endings = (v.OK, v.FAILED_BY_TOOL, v.GIVEN_UP, v.Verdict(Outcome.DEADLINE, v.TIMEOUT, limit_source="sdk"))
    names = [f"tool-{number}" for number in range(tools)]
    for number in range(connectors):
        session = ledger.open_session(f"server-{number}", Transport("stdio"), provisional=False, reason=None)
        sessions.ready(session, "2025-06-18", None)
        ledger.listed(session.connector, names, [], first_page=True)
        ended = [(tool, ending) for tool in names for ending in endings]
        for key, (tool, ending) in enumerate([*ended, *((names[0], None) for _ in range(open))]):
            call = calls.begin(session.connector, session.name, "tools/call", tool, session, layered=False)
            call.limits["sdk"] = 30.0
            calls.limits_known(call)
            attempt = attempts.begin(session, "tools/call", tool, key, 30.0, call)
            if ending is not None:
                attempts.end(attempt, ending)
                calls.end(call, ending)


def _plain_endpoint(lines: int) -> tuple[str, Callable[[], None]]:
    registry = CollectorRegistry()
    for first in range(0, lines, PER_FAMILY):
        gauge = Gauge(f"plain_{first}", "As many lines.", ("connector", "number"), registry=registry)
        for number in range(first, min(first + PER_FAMILY, lines)):
            gauge.labels(f"server-{number % 200}", str(number)).set(number / 7)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    return f"http://127.0.0.1:{server.server_port}/metrics", lambda: _end(server, thread)


def _end(server: WSGIServer, thread: threading.Thread) -> None:
    server.shutdown()
    server.server_close()
    thread.join()


def _get(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": ACCEPT})  # noqa: S310 - our own loopback address
    with urllib.request.urlopen(request, timeout=120) as page:  # noqa: S310
        text: bytes = page.read()
        return text


async def _measure(ours: str, plain: str, rounds: int) -> tuple[Measured, Measured]:
    times: dict[str, list[float]] = {ours: [], plain: []}
    sizes: dict[str, int] = {}
    lags: dict[str, float] = {ours: 0.0, plain: 0.0}
    for _ in range(rounds):
        for url in (ours, plain):
            scrape = asyncio.ensure_future(asyncio.to_thread(_timed, url))
            while not scrape.done():
                before = time.perf_counter()
                await asyncio.sleep(TICK)
                lags[url] = max(lags[url], time.perf_counter() - before - TICK)
            seconds, sizes[url] = scrape.result()
            times[url].append(seconds)
    mine, theirs = (
        Measured(statistics.median(times[url]) * 1000, sizes[url], lags[url] * 1000) for url in (ours, plain)
    )
    return mine, theirs


def _timed(url: str) -> tuple[float, int]:
    before = time.perf_counter()
    text = _get(url)
    return time.perf_counter() - before, len(text)


if __name__ == "__main__":
    answer("ready")
    for asked in questions():
        answer(measure(asked))
