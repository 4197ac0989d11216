"""A process that exposes every instrument of the catalogue as the package's own endpoint does.

It prints its port, holds all counters at 0 until a line comes on stdin, and then lets everything happen at once.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, start_http_server

from otel_mcp._ground import catalogue, names
from otel_mcp._ground.catalogue import Instrument
from otel_mcp._ground.outcomes import Outcome

VALUES: dict[str, tuple[Any, ...]] = {
    names.CONNECTOR: ("live",),
    names.OUTCOME: tuple(outcome.value for outcome in Outcome),
    names.PHASE: ("lock", "wait"),
    names.LIMIT_SOURCE: ("host", "sdk"),
    names.CAUSE: names.FAULT_CAUSES,
    names.STATE: names.CONNECTOR_STATES,
    names.BREAKER_STATE: names.BREAKER_STATES,
    names.BREAKER_CAUSE: names.STRIKE_CAUSES,
    names.CONNECT_REASON: names.CONNECT_REASONS,
    names.KEEPALIVE_OVERLAP: (False, True),
    names.RETRY_UNSAFE: (False, True),
    names.HOOK_STATE: names.HOOK_STATES,
    names.MCP_METHOD_NAME: (names.TOOLS_CALL,),
    names.ERROR_TYPE: ("timeout",),
}
SILENT = {names.GEN_AI_PROMPT_NAME, names.RPC_RESPONSE_STATUS_CODE}
"""Keys that stay away from most points in real life, too."""


def points(instrument: Instrument) -> list[dict[str, Any]]:
    keys = [key for key in instrument.keys if key not in SILENT]
    values = [VALUES.get(key, (key.rpartition(".")[2],)) for key in keys]
    return [dict(zip(keys, chosen, strict=True)) for chosen in itertools.product(*values)]


class Endpoint:
    def __init__(self) -> None:
        self.happened = 0
        registry = CollectorRegistry()
        reader = PrometheusMetricReader(registry=registry, scope_info_enabled=False)
        provider = MeterProvider(metric_readers=[reader])
        meter = provider.get_meter(names.SCOPE)
        self.histograms = []
        for i in catalogue.INSTRUMENTS:
            if i.kind == "histogram":
                bounds = list(i.bounds)
                made = meter.create_histogram(i.name, i.unit, i.description, explicit_bucket_boundaries_advisory=bounds)
                self.histograms.append((i, made))
            else:
                create = meter.create_observable_gauge if i.kind == "gauge" else meter.create_observable_counter
                create(i.name, [self.observed(i)], i.unit, i.description)
        self.server, _ = start_http_server(0, "127.0.0.1", registry)
        # A histogram's series begin with its first value; this one is the first scrape's, as a session's past is.
        self.record()

    def observed(self, instrument: Instrument) -> Any:
        def callback(_: CallbackOptions) -> list[Observation]:
            value = 1 if instrument.kind == "gauge" else 10 * self.happened
            return [Observation(value, point) for point in points(instrument)]

        return callback

    def record(self) -> None:
        for instrument, histogram in self.histograms:
            for point in points(instrument):
                histogram.record(1.5, point)


def main() -> None:
    endpoint = Endpoint()
    print(endpoint.server.server_port, flush=True)
    for _ in sys.stdin:
        endpoint.happened += 1
        endpoint.record()
        print("done", flush=True)


if __name__ == "__main__":
    main()
