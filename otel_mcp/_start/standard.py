"""OpenTelemetry's own variables, checked before the SDK reads them.

Some of them make the SDK log a traceback, some make an exporter's constructor raise, depending on its version. Here a
bad value becomes one sentence with the variable, the value and what is used instead, and `number` and `choice` hand
the replacement to the constructors.
"""

from __future__ import annotations

import importlib
import math
import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from otel_mcp._ground.text import short, without_secrets
from otel_mcp._start.notices import say
from otel_mcp._start.signals import GRPC, Signal

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import ExemplarFilter

_COMPRESSIONS: Final = ("none", "gzip", "deflate")
_PROTOCOLS: Final = ("http/protobuf", GRPC)
_OF_METRICS: Final = {
    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": ("cumulative", "delta", "lowmemory"),
    "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": (
        "explicit_bucket_histogram", "base2_exponential_bucket_histogram",
    ),
}  # fmt: skip
"""Variables that the exporter of metrics reads, with what it knows, its default first."""
_EXEMPLAR_FILTERS: Final = ("trace_based", "always_on", "always_off")


def number(variable: str, default: float, *, above: float = 0.0) -> float:
    """The variable as a finite number greater than `above`; else `default`, and one line says so."""
    raw = os.environ.get(variable, "").strip()
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and value > above:
        return value
    say(f"{variable}={short(raw)!r} is not a number greater than {above:g}; using {default:g} instead")
    return default


def choice(variable: str, raw: str, allowed: tuple[str, ...], default: str) -> str:
    """`raw` if it is allowed; else `default`, and one line says so."""
    if raw.lower() in allowed:
        return raw.lower()
    say(f"{variable}={short(raw)!r} is not one of {', '.join(allowed)}; using {default} instead")
    return default


def port(variable: str, default: int) -> int:
    """The variable as a TCP port, 0 for any free one; else `default`, and one line says so."""
    raw = os.environ.get(variable, "").strip()
    if not raw:
        return default
    if raw.isascii() and raw.isdigit() and len(raw) <= 5 and int(raw) <= 65_535:
        return int(raw)
    say(f"{variable}={short(raw)!r} is not a port from 0 to 65535; using {default} instead")
    return default


def otlp_timeout(signal: Signal) -> float | None:
    """Seconds an export may take, or None for the exporter's own default."""
    setting = signal.otlp_setting("TIMEOUT", os.environ)
    return number(setting[0], 10.0) if setting else None


def otlp_protocol(signal: Signal) -> str:
    """``http/protobuf`` or ``grpc``."""
    setting = signal.otlp_setting("PROTOCOL", os.environ)
    return choice(setting[0], setting[1], _PROTOCOLS, "http/protobuf") if setting else "http/protobuf"


def otlp_endpoint_is_usable(signal: Signal, protocol: str) -> bool:
    """Whether the endpoint can be one; a line says what it should look like. True if none is set."""
    setting = signal.otlp_setting("ENDPOINT", os.environ)
    if setting is None:
        return True
    variable, value = setting
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if protocol == GRPC and "://" not in value:
        usable = True  # gRPC also takes host:port and its own target names
    if not usable:
        shown = without_secrets(value)
        say(f"{variable}={shown!r} is not a URL like http://localhost:4318; {signal.name} are not exported")
    return usable


def sampling_ratio() -> float:
    """``OTEL_TRACES_SAMPLER_ARG`` from 0 to 1; else 1, and one line says so."""
    raw = os.environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip()
    if not raw:
        return 1.0
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if 0.0 <= value <= 1.0:
        return value
    say(f"OTEL_TRACES_SAMPLER_ARG={short(raw)!r} is not a ratio from 0 to 1; using 1 instead")
    return 1.0


def compression(signal: Signal) -> str | None:
    """``none`` where the compression asked for is unknown, else None: then the exporter reads it itself."""
    setting = signal.otlp_setting("COMPRESSION", os.environ)
    if setting is None or setting[1].lower() in _COMPRESSIONS:
        return None
    return choice(setting[0], setting[1], _COMPRESSIONS, "none")


def check_headers(signal: Signal) -> None:
    """Say which entries of the headers variable are none. Their text may be a secret, so only the place is named."""
    setting = signal.otlp_setting("HEADERS", os.environ)
    if setting is None:
        return
    variable, value = setting
    for place, entry in enumerate(value.split(","), 1):
        if entry.strip() and not entry.partition("=")[1]:
            say(f"{variable}: entry {place} is not of the form name=value; it is left out")


def check_metrics() -> None:
    """Say which variables of the OTLP exporter of metrics have a value that it replaces by its default."""
    for variable, allowed in _OF_METRICS.items():
        raw = os.environ.get(variable, "").strip()
        if raw:
            choice(variable, raw, allowed, allowed[0])


def check_resource() -> None:
    """Say what is wrong with the resource's variables. An attribute may be a secret, so only its place is named."""
    for place, entry in enumerate(os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","), 1):
        if entry.strip() and "=" not in entry:
            say(f"OTEL_RESOURCE_ATTRIBUTES: entry {place} is not of the form name=value; it is left out")
    for name in os.environ.get("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "").split(","):
        name = name.strip()
        if name and name != "*" and not entry_points(group="opentelemetry_resource_detector", name=name):
            say(f"OTEL_EXPERIMENTAL_RESOURCE_DETECTORS: no detector {short(name)!r} is installed; it is left out")


def exemplar_filter() -> ExemplarFilter | None:
    """The default filter where the one asked for is unknown, else None: then the SDK reads the variable itself."""
    raw = os.environ.get("OTEL_METRICS_EXEMPLAR_FILTER", "trace_based")  # the SDK takes it as it stands
    if raw in _EXEMPLAR_FILTERS:
        return None
    from opentelemetry.sdk.metrics import TraceBasedExemplarFilter

    say(
        f"OTEL_METRICS_EXEMPLAR_FILTER={short(raw)!r} is not one of {', '.join(_EXEMPLAR_FILTERS)}; "
        f"using {_EXEMPLAR_FILTERS[0]} instead"
    )
    return TraceBasedExemplarFilter()


def check_propagators() -> None:
    """Say so where a propagator asked for is not installed: OpenTelemetry's API then has none at all."""
    raw = os.environ.get("OTEL_PROPAGATORS", "").strip()
    if not raw:
        return
    try:
        importlib.import_module("opentelemetry.propagate")
    except Exception as error:  # noqa: BLE001 - a propagator's own module may raise what it likes
        why = short(str(error))
        say(f"OTEL_PROPAGATORS={short(raw)!r} cannot be used ({why}); servers are not told the trace context")
