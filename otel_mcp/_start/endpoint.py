"""The Prometheus endpoint of private metrics: a registry and a small HTTP server of its own.

`prometheus_client.start_http_server` is not used: it looks names up in the DNS while it binds, polls twice a second,
and on some Pythons shares its port with other processes, so that a scrape reaches a random one of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import socketserver
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground.guard import caught, guarded, logger
from otel_mcp._start import exposition, standard
from otel_mcp._start.notices import say

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from prometheus_client import CollectorRegistry, MetricsHandler

DEFAULT_HOST: Final = "127.0.0.1"
"""Loopback only: who wants to be scraped from elsewhere says so with OTEL_EXPORTER_PROMETHEUS_HOST."""
DEFAULT_PORT: Final = 9464
FOLLOWING_PORTS: Final = 32
"""Ports tried after the one that is taken: a handful of agents on one machine, and a range a firewall rule can name."""

_CLOSE_SECONDS: Final = 0.5

_ACCEPT_PAUSE: Final = 1.0
"""Seconds after a connection that could not be taken. A process out of descriptors has it pending all the time, and
without a pause this thread would take a whole processor from it."""
_LISTENER_IS_GONE: Final = (errno.EBADF, errno.ENOTSOCK, errno.EINVAL)
"""A program that closes all descriptors, as daemons do, has closed this one too."""

_REQUEST_SECONDS: Final = 10.0
"""A client that sends no request line for this long is dropped, so that its thread ends."""


def from_here(host: str, port: int) -> str:
    """``host:port`` at which this machine reaches what listens on `host`."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - told apart, not bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Endpoint:
    """Serves `reader`'s metrics under ``/metrics`` until `close`."""

    def __init__(self, server: _Server, reader: MetricReader) -> None:
        self._server = server
        self.reader = reader
        host, port = server.server_address[:2]
        self.host, self.port = str(host), int(port)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="otel-mcp-endpoint", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """``host:port`` for a Prometheus on this machine."""
        return from_here(self.host, self.port)

    def _serve(self) -> None:
        while not self._closing:
            with guarded("endpoint", "one request"):
                self._server.handle_request()  # waits without a time limit: an idle endpoint wakes nobody
            error, self._server.accept_error = self._server.accept_error, None
            if error in _LISTENER_IS_GONE:
                break
            if error is not None:
                time.sleep(_ACCEPT_PAUSE)
        self._server.server_close()

    def close(self) -> None:
        """Stop listening; the port is free afterwards. Takes half a second at most, and usually none."""
        self._closing = True
        with contextlib.suppress(OSError):  # wakes the waiting thread, which then closes the listener
            socket.create_connection(self._server.socket.getsockname()[:2], timeout=_CLOSE_SECONDS).close()
        self._thread.join(_CLOSE_SECONDS)

    def forget(self) -> None:
        """In a forked child: give the inherited listener up, else a scrape could hang in it for ever."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._server.socket.close()


def open_endpoint() -> Endpoint | None:
    """Listen where ``OTEL_EXPORTER_PROMETHEUS_HOST`` and ``_PORT`` say, or on the next free port after it.

    None, and one line on stderr, where that is not possible.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import CollectorRegistry
    except ImportError as error:
        say(f"no Prometheus endpoint: {error.name} is missing (install opentelemetry-exporter-prometheus)")
        return None
    host = os.environ.get("OTEL_EXPORTER_PROMETHEUS_HOST", "").strip() or DEFAULT_HOST
    registry = CollectorRegistry()
    server = _listen(host, standard.port("OTEL_EXPORTER_PROMETHEUS_PORT", DEFAULT_PORT), registry)
    if server is None:
        return None
    # Scope labels would start new series with every version of ours.
    return Endpoint(server, PrometheusMetricReader(scope_info_enabled=False, registry=registry))


def _listen(host: str, first: int, registry: CollectorRegistry) -> _Server | None:
    last = min(first + FOLLOWING_PORTS, 65_535) if first else 0
    for port in range(first, last + 1):
        try:
            server = _Server(host, port, _handler(registry))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            say(f"no Prometheus endpoint: {host}:{port} cannot be listened on ({error.strerror or error})")
            return None
        if port != first:
            say(f"port {first} is taken; the Prometheus endpoint is http://{host}:{port}/metrics")
        return server
    say(
        f"no Prometheus endpoint: the ports {first} to {last} on {host} are all taken; "
        "set OTEL_EXPORTER_PROMETHEUS_PORT to a free one, 0 for any"
    )
    return None


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = os.name == "posix"  # elsewhere it would take a port that is in use
    allow_reuse_port = False
    daemon_threads = True
    block_on_close = False
    accept_error: int | None = None

    def __init__(self, host: str, port: int, handler: type[MetricsHandler]) -> None:
        self.address_family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        super().__init__(address, handler)  # type: ignore[arg-type] # an IPv6 address has four parts

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError as error:
            self.accept_error = error.errno
            raise

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a scrape from %s failed", client_address, exc_info=True)


def _handler(registry_served: CollectorRegistry) -> type[MetricsHandler]:
    from prometheus_client import MetricsHandler

    one_at_a_time = threading.Lock()

    class Handler(MetricsHandler):
        registry = registry_served
        timeout = _REQUEST_SECONDS

        def do_GET(self) -> None:  # noqa: N802 - the name http.server calls
            if self.path.partition("?")[0] not in ("/metrics", "/"):
                self.send_error(404, "Only /metrics is here")
                return
            try:
                # The exporter's collector hands one collection to whoever asks first: two scrapes at once would get
                # one of them twice and the other empty.
                with one_at_a_time:
                    body = exposition.encode(registry_served)
            except Exception as error:  # noqa: BLE001 - a scrape must be answered
                caught("endpoint", "one scrape", error)
                self.send_error(500, "The metrics could not be collected")
                return
            self.send_response(200)
            self.send_header("Content-Type", exposition.CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:  # noqa: N802
            self.send_response(200)
            self.end_headers()

    return Handler
