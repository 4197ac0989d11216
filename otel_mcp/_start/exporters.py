"""Private providers with the exporters that the standard variables ask for.

Each `make_…` returns None where nothing is to be exported. An exporter that is missing or does not accept its
configuration costs one line and its signal, never the program.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground.text import short
from otel_mcp._start import standard
from otel_mcp._start.notices import say
from otel_mcp._start.quiet import hush, ours, quiet
from otel_mcp._start.signals import GRPC, LOGS, METRICS, SIGNALS, TRACES, Signal

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import Sampler

ours(__name__)

_GRPC_PACKAGE: Final = "opentelemetry-exporter-otlp-proto-grpc"
_RATIO_SAMPLERS: Final = ("traceidratio", "parentbased_traceidratio")

_METRIC_TIMES: Final = {"OTEL_METRIC_EXPORT_INTERVAL": 60_000, "OTEL_METRIC_EXPORT_TIMEOUT": 30_000}
"""Milliseconds, OpenTelemetry's defaults."""

_alive: list[object] = []
"""Every processor and reader made: before 1.45 a collected one raises in the SDK's fork handler, in each child."""


def make_resource(service: str, instance: str) -> Resource:
    """The resource of private providers: what the variables say, else these two names.

    Without a service.instance.id all processes of a service share one identity behind an OTLP receiver, and their
    counters mix.
    """
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    names: dict[str, str] = {"service.name": service, "service.instance.id": instance}
    standard.check_resource()
    given = OTELResourceDetector().detect().attributes
    return Resource.create({key: value for key, value in names.items() if key not in given})


def make_tracer_provider(resource: Resource) -> TracerProvider | None:
    """A provider that belongs to nobody else, with a batch processor an exporter."""
    exporters = _exporters(TRACES)
    if not exporters:
        return None
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(sampler=_sampler(), resource=resource, shutdown_on_exit=False)
    processor = quiet(BatchSpanProcessor, TRACES.name)
    for exporter in exporters:
        provider.add_span_processor(_packing(processor(exporter, **_batch("OTEL_BSP"))))
    hush()
    return provider


def make_logger_provider(resource: Resource) -> LoggerProvider | None:
    """A provider that belongs to nobody else, with a batch processor an exporter."""
    exporters = _exporters(LOGS)
    if not exporters:
        return None
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
    processor = quiet(BatchLogRecordProcessor, LOGS.name)
    for exporter in exporters:
        provider.add_log_record_processor(_packing(processor(exporter, **_batch("OTEL_BLRP"))))
    hush()
    return provider


def make_readers() -> list[MetricReader]:
    """A reader for each metrics exporter that pushes; Prometheus is served by the endpoint and not here."""
    exporters = _exporters(METRICS)
    if not exporters:
        return []
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

    readers: list[MetricReader] = []
    for exporter in exporters:
        if isinstance(exporter, MetricReader):
            readers.append(_keep(exporter))
            continue
        reader = quiet(PeriodicExportingMetricReader, METRICS.name)
        interval, timeout = (standard.number(variable, default) for variable, default in _METRIC_TIMES.items())
        readers.append(_keep(reader(exporter, export_interval_millis=interval, export_timeout_millis=timeout)))
    hush()
    return readers


def make_meter_provider(resource: Resource, readers: list[MetricReader]) -> MeterProvider:
    """A provider that belongs to nobody else."""
    from opentelemetry.sdk.metrics import MeterProvider

    provider = MeterProvider(
        metric_readers=readers, resource=resource, exemplar_filter=standard.exemplar_filter(), shutdown_on_exit=False
    )
    _alive.append(provider)
    return provider


def rehearse() -> None:
    """Make once what start-up would make, without a thread and without sending; `say` tells of what is wrong."""
    for signal in SIGNALS:
        for exporter in _exporters(signal):
            exporter.shutdown()
    _sampler()
    standard.check_resource()
    standard.check_propagators()
    standard.exemplar_filter()
    for prefix in ("OTEL_BSP", "OTEL_BLRP"):
        _batch(prefix)
    for variable, default in _METRIC_TIMES.items():
        standard.number(variable, default)
    if "prometheus" in METRICS.exporters(os.environ):
        from otel_mcp._start.endpoint import DEFAULT_PORT

        standard.port("OTEL_EXPORTER_PROMETHEUS_PORT", DEFAULT_PORT)


def silence_after_fork() -> None:
    """In a forked child: let the threads that the SDK starts again for our processors end at once.

    This runs before the SDK's own fork handlers, because ours was registered before the processors were made.
    """
    for kept in _alive:
        batch = getattr(kept, "_batch_processor", None)
        if batch is not None:
            batch._shutdown = True


def _keep(thing: Any) -> Any:
    _alive.append(thing)
    return thing


def _packing(processor: Any) -> Any:
    from otel_mcp._start.packing import pack_what_waits

    pack_what_waits(processor)
    return _keep(processor)


# --- one exporter -------------------------------------------------------------------------------------------------
def _exporters(signal: Signal) -> list[Any]:
    pulled = ("prometheus",) if signal is METRICS else ()
    made = [_exporter(signal, name) for name in signal.exporters(os.environ) if name not in pulled]
    return [exporter for exporter in made if exporter is not None]


def _exporter(signal: Signal, name: str) -> Any | None:
    try:
        if name in ("otlp", "otlp_proto_http", "otlp_proto_grpc"):
            return _otlp(signal, name)
        if name == "console":
            return _load(signal.console, signal)(out=sys.stderr)  # stdout is the program's
        return _plug_in(signal, name)
    except Exception as error:  # noqa: BLE001 - exporters raise what they like
        reason = short(" ".join(f"{type(error).__name__}: {error}".split()))
        asked = f"{signal.exporter_variable}={short(name)!r}"
        say(f"{asked} cannot be set up ({reason}); {signal.name} are not exported to it")
        return None


def _otlp(signal: Signal, name: str) -> Any | None:
    protocol = {"otlp_proto_http": "http/protobuf", "otlp_proto_grpc": GRPC}.get(name) or standard.otlp_protocol(signal)
    if not standard.otlp_endpoint_is_usable(signal, protocol):
        return None
    standard.check_headers(signal)
    if signal is METRICS:
        standard.check_metrics()
    options: dict[str, Any] = {}
    timeout = standard.otlp_timeout(signal)
    if timeout is not None:
        options["timeout"] = timeout if protocol != GRPC else math.ceil(timeout)
    if protocol == GRPC:
        try:
            kind = _load(signal.grpc, signal)
        except ImportError:
            say(
                f"OTLP over gRPC was asked for and {_GRPC_PACKAGE} is not installed; {signal.name} are not exported "
                "(install it, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and the endpoint's HTTP port)"
            )
            return None
        return kind(**options)
    kind = _load(signal.http, signal)
    if standard.compression(signal):
        from opentelemetry.exporter.otlp.proto.http import Compression

        options["compression"] = Compression.NoCompression
    return kind(**options)


def _load(place: tuple[str, str], signal: Signal) -> Any:
    module, name = place
    kind = getattr(importlib.import_module(module), name)
    from otel_mcp._start.pacing import paced

    hush()
    return quiet(kind, signal.name, paced)


def _plug_in(signal: Signal, name: str) -> Any | None:
    for entry_point in entry_points(group=signal.entry_points, name=name):
        kind = entry_point.load()
        from otel_mcp._start.pacing import whole

        hush()
        return quiet(kind, signal.name, whole)()
    say(
        f"{signal.exporter_variable}={short(name)!r}: no exporter of that name is installed; {signal.name} are not "
        "exported to it (otlp, console and none always work, and prometheus for metrics)"
    )
    return None


def _batch(prefix: str) -> dict[str, float]:
    """The batch processor's arguments; the defaults are the specification's."""
    delay = 5_000 if prefix == "OTEL_BSP" else 1_000
    queue = int(standard.number(f"{prefix}_MAX_QUEUE_SIZE", 2_048, above=0.5))
    batch = int(standard.number(f"{prefix}_MAX_EXPORT_BATCH_SIZE", min(512, queue), above=0.5))
    if batch > queue:
        say(f"{prefix}_MAX_EXPORT_BATCH_SIZE={batch} is more than the queue holds; using {queue} instead")
        batch = queue
    return {
        "max_queue_size": queue,
        "schedule_delay_millis": standard.number(f"{prefix}_SCHEDULE_DELAY", delay),
        "max_export_batch_size": batch,
        "export_timeout_millis": standard.number(f"{prefix}_EXPORT_TIMEOUT", 30_000),
    }


def _sampler() -> Sampler | None:
    """The sampler asked for by name; None lets the SDK take its default."""
    name = os.environ.get("OTEL_TRACES_SAMPLER", "").strip().lower()
    if not name:
        return None
    from opentelemetry.sdk.trace import sampling

    if name in _RATIO_SAMPLERS:
        by_ratio = sampling.TraceIdRatioBased(standard.sampling_ratio())
        return by_ratio if name == "traceidratio" else sampling.ParentBased(by_ratio)
    always = {"on": sampling.ALWAYS_ON, "off": sampling.ALWAYS_OFF}
    for end, sampler in always.items():
        if name == f"always_{end}":
            return sampler
        if name == f"parentbased_always_{end}":
            return sampling.ParentBased(sampler)
    for entry_point in entry_points(group="opentelemetry_traces_sampler", name=name):
        made: Sampler = entry_point.load()(os.environ.get("OTEL_TRACES_SAMPLER_ARG"))
        return made
    say(f"OTEL_TRACES_SAMPLER={short(name)!r} is not a known sampler; using parentbased_always_on instead")
    return sampling.ParentBased(sampling.ALWAYS_ON)
