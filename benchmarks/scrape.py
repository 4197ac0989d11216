"""What a scrape costs: time, bytes and event-loop lag, by the number of connectors, beside prometheus_client alone.

``python benchmarks/scrape.py [CONNECTORS …]`` prints a Markdown table. Each connector has twenty requests open. They
are entries in the ledger, opened as the SDK's wrapper opens them, without servers: a scrape reads nothing else.

The registry beside it holds as many lines, as plain gauges of prometheus_client with two short labels. Both are scraped
over HTTP by another thread of the same process, by turns, while an event loop in the main thread measures how late it
wakes. The budget is 200 connectors; what comes after them shares the label ``_other``.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from wsgiref.simple_server import WSGIServer

from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import Transport
from otel_mcp._observe import attempts, calls, sessions
from otel_mcp._record.recorder import recorder
from otel_mcp._start.endpoint import open_endpoint

OPEN = 20
ROUNDS = 7
TICK = 0.005
"""Seconds between two wake-ups of the loop that is measured."""
PER_FAMILY = 2000
"""Lines of one plain gauge, about what our largest family has at the full budget."""


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds; the lag is the worst seen."""

    milliseconds: float
    size: int
    lag: float


def main(sizes: Iterable[int]) -> None:
    """Prints the table."""
    print(f"Python {platform.python_version()}, {platform.machine()}, {_cores()} cores,", end=" ")
    print(", ".join(f"{name} {metadata.version(name)}" for name in ("opentelemetry-sdk", "prometheus_client")))
    print()
    print("| connectors | lines | ours, ms | prometheus_client, ms | ratio | kB | plain kB | lag, ms | plain lag, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        print(_row(size), flush=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _row(connectors: int) -> str:
    ours, close_ours = _our_endpoint(connectors)
    lines = sum(not line.startswith(b"#") for line in _get(ours).splitlines())
    plain, close_plain = _plain_endpoint(lines)
    mine, theirs = asyncio.run(_measure(ours, plain))
    close_ours()
    close_plain()
    return (
        f"| {connectors:,} | {lines:,} | {mine.milliseconds:.0f} | {theirs.milliseconds:.0f} | "
        f"{mine.milliseconds / theirs.milliseconds:.1f} | {mine.size / 1000:.0f} | {theirs.size / 1000:.0f} | "
        f"{mine.lag:.0f} | {theirs.lag:.0f} |"
    )


def _our_endpoint(connectors: int) -> tuple[str, Callable[[], None]]:
    ledger.reset()
    os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"] = "0"
    endpoint = open_endpoint()
    assert endpoint is not None
    provider = MeterProvider([endpoint.reader], shutdown_on_exit=False)
    recorder.bind_meter_provider(provider)
    _fill(connectors)

    def close() -> None:
        endpoint.close()
        recorder.bind_meter_provider(None)
        provider.shutdown()

    return f"http://{endpoint.address}/metrics", close


def _fill(connectors: int) -> None:
    """Each connector: one session, four calls that ended in four ways, twenty that are open."""
    endings = (v.OK, v.FAILED_BY_TOOL, v.GIVEN_UP, v.Verdict(Outcome.DEADLINE, v.TIMEOUT, limit_source="sdk"))
    for number in range(connectors):
        session = ledger.open_session(f"server-{number}", Transport("stdio"), provisional=False, reason=None)
        sessions.ready(session, "2025-06-18", None)
        for key in range(len(endings) + OPEN):
            call = calls.begin(session.connector, session.name, "tools/call", "search", session, layered=False)
            call.limits["sdk"] = 30.0
            calls.limits_known(call)
            attempt = attempts.begin(session, "tools/call", "search", key, 30.0, call)
            if key < len(endings):
                attempts.end(attempt, endings[key])
                calls.end(call, endings[key])


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
    with urllib.request.urlopen(url, timeout=120) as answer:  # noqa: S310 - our own loopback address
        text: bytes = answer.read()
        return text


async def _measure(ours: str, plain: str) -> tuple[Measured, Measured]:
    times: dict[str, list[float]] = {ours: [], plain: []}
    sizes: dict[str, int] = {}
    lags: dict[str, float] = {ours: 0.0, plain: 0.0}
    for _ in range(ROUNDS):
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
    main([int(word) for word in sys.argv[1:]] or [50, 200, 1000])
