"""What traces, metrics and logs have in common, as data: variables, exporter classes, what counts as configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OTLP_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
OTLP_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
HTTP_PROTOBUF: Final = "http/protobuf"
GRPC: Final = "grpc"


@dataclass(frozen=True)
class Signal:
    """One of the three signals."""

    name: str
    http: tuple[str, str]
    """Module and class of the OTLP exporter over HTTP; the next two likewise."""
    grpc: tuple[str, str]
    console: tuple[str, str]

    @property
    def exporter_variable(self) -> str:
        return f"OTEL_{self.name.upper()}_EXPORTER"

    @property
    def entry_points(self) -> str:
        return f"opentelemetry_{self.name}_exporter"

    def otlp_variable(self, setting: str) -> str:
        """The signal's own form of an OTLP variable: ``ENDPOINT``, ``PROTOCOL``, ``TIMEOUT`` …"""
        return f"OTEL_EXPORTER_OTLP_{self.name.upper()}_{setting}"

    def otlp_setting(self, setting: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
        """(variable, value) that decides, the signal's own before the general one; None if neither is set."""
        for variable in (self.otlp_variable(setting), f"OTEL_EXPORTER_OTLP_{setting}"):
            value = environ.get(variable, "").strip()
            if value:
                return variable, value
        return None

    def exporters(self, environ: Mapping[str, str]) -> list[str]:
        """Names of the exporters asked for, ``none`` left out.

        Unset: OTLP if an endpoint is set. Metrics are served for Prometheus then too.
        """
        asked = environ.get(self.exporter_variable, "").strip()
        if asked:
            names = [name.strip().lower() for name in asked.split(",")]
            return list(dict.fromkeys(name for name in names if name and name != "none"))
        otlp = ["otlp"] if self.otlp_setting("ENDPOINT", environ) else []
        return ["prometheus", *otlp] if self is METRICS else otlp

    def protocol(self, environ: Mapping[str, str]) -> str:
        """The OTLP protocol asked for; unset it is the one whose exporter we depend on."""
        setting = self.otlp_setting("PROTOCOL", environ)
        return setting[1].lower() if setting else HTTP_PROTOBUF


_OTLP: Final = "opentelemetry.exporter.otlp.proto"

TRACES: Final = Signal(
    "traces",
    (f"{_OTLP}.http.trace_exporter", "OTLPSpanExporter"),
    (f"{_OTLP}.grpc.trace_exporter", "OTLPSpanExporter"),
    ("opentelemetry.sdk.trace.export", "ConsoleSpanExporter"),
)
METRICS: Final = Signal(
    "metrics",
    (f"{_OTLP}.http.metric_exporter", "OTLPMetricExporter"),
    (f"{_OTLP}.grpc.metric_exporter", "OTLPMetricExporter"),
    ("opentelemetry.sdk.metrics.export", "ConsoleMetricExporter"),
)
LOGS: Final = Signal(
    "logs",
    (f"{_OTLP}.http._log_exporter", "OTLPLogExporter"),
    (f"{_OTLP}.grpc._log_exporter", "OTLPLogExporter"),
    ("opentelemetry.sdk._logs.export", "ConsoleLogRecordExporter"),
)
SIGNALS: Final = (TRACES, METRICS, LOGS)
