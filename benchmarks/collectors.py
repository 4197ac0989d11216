"""What an OTLP collector that is ill does to the event loop, and to the program's exit.

Each program makes calls in memory and sends traces, metrics and logs over HTTP: to a port where nobody listens, to a
collector that answers after two seconds, to one that takes connections and never answers, to a healthy one. Beside them
runs one that makes the same telemetry and sends nothing before its end. Spans are sent every 100 ms and metrics every
500 ms here (the defaults are 5 s and 60 s), so that many exports fall into the calls of each round. The figures are the
lower quartiles of the rounds: what an exporter adds is in every round, what else goes on in the machine comes and goes.
Two more rows have the default intervals: that is what a program gets which sets nothing but the endpoint.
"""

from __future__ import annotations

import contextlib
import http.server
import socket
import statistics
import threading
import time
from collections.abc import Iterator

from bench import Bench, table
from turns import Command, Subject, lower_quartile, progress, subjects

CALLS = 1000
SLOW = 2.0
"""Seconds that the slow collector takes for an answer."""
_NEVER = {
    **dict.fromkeys(("OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL"), "3600000"),
    **dict.fromkeys(("OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_QUEUE_SIZE"), "1000000"),
    **dict.fromkeys(("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"), "1000000"),
}
_UNSENT = "made, not sent"
_ILL = ("dead (port closed)", "black hole")
_OFTEN = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BLRP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "500"}


def tables(bench: Bench) -> Iterator[str]:
    """One table: what is added to the median, the 99th and the slowest of 1,000 calls."""
    calls, rounds = bench.choose(CALLS, 20), bench.choose(20, 1)
    with _endpoints() as endpoints, subjects(_commands(bench, endpoints)) as (ready, failed):
        if failed:
            raise SystemExit(f"collectors: {failed}")
        seen: dict[str, list[list[float]]] = {name: [] for name in ready}
        for subject in ready.values():
            subject.ask(bench.choose(300, 5))
        for number in range(rounds):
            for name, subject in ready.items():
                progress(f"collectors: {name}, round {number + 1} of {rounds}")
                seen[name].append(_marks(subject.ask(calls)))
        progress()
        exits = {name: _exit(subject) for name, subject in ready.items()}
    marks = {name: [lower_quartile(list(column)) for column in zip(*its, strict=True)] for name, its in seen.items()}
    plain = marks[_UNSENT]
    rows = [
        (name, *(f"{mark:.0f}" for mark in its), *_added(its, plain, name), f"{exits[name]:.2f}")
        for name, its in marks.items()
    ]
    yield f"mcp {bench.sdk}, {rounds} rounds of {calls} calls."
    head = ["collector", "p50, µs", "p99, µs", "slowest, µs", "adds: p50", "p99", "slowest, µs", "exit, s"]
    yield table(head, rows)


def _added(its: list[float], plain: list[float], name: str) -> list[str]:
    return ["", "", ""] if its is plain else [f"{mark - base:+.0f}" for mark, base in zip(its, plain, strict=True)]


def _marks(times: list[float]) -> list[float]:
    ordered = sorted(times)
    return [statistics.median(ordered), ordered[-1 - len(ordered) // 100], ordered[-1]]


def _exit(subject: Subject) -> float:
    began = time.monotonic()
    subject.end()
    return time.monotonic() - began


def _commands(bench: Bench, endpoints: dict[str, str]) -> dict[str, Command]:
    port = {"OTEL_EXPORTER_PROMETHEUS_PORT": "0"}
    chosen = list(endpoints.items())[: bench.choose(len(endpoints), 2)]
    commands = {}
    for name, endpoint in chosen:
        to = {**port, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        if not commands:
            commands[_UNSENT] = bench.command("collected.py", **to, **_NEVER)
        commands[name] = bench.command("collected.py", **to, **_OFTEN)
        if name in _ILL:
            commands[f"{name}, default intervals"] = bench.command("collected.py", **to)
    return commands


@contextlib.contextmanager
def _endpoints() -> Iterator[dict[str, str]]:
    """Collectors of four kinds on loopback ports."""
    with contextlib.ExitStack() as stack:
        closed = socket.create_server(("127.0.0.1", 0))
        dead = closed.getsockname()[1]
        closed.close()
        hole = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
        ports = {"dead (port closed)": dead, "black hole": hole.getsockname()[1]}
        for name, seconds in (("slow (2 s)", SLOW), ("healthy", 0.0)):
            ports[name] = stack.enter_context(_serving(seconds))
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments: object) -> None:
        """A program that has ended takes no answer."""


@contextlib.contextmanager
def _serving(seconds: float) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(seconds)
            with contextlib.suppress(OSError):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
