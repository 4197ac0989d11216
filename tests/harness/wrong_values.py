"""A wrong value of every variable that we act on, and the one line that it costs."""

from __future__ import annotations

from typing import Final, NamedTuple

NOWHERE: Final = "/no/such/folder"


class Wrong(NamedTuple):
    """A value, and what is said of it; ``#`` stands for a port."""

    value: str
    line: str


def _not_a_number(variable: str, value: str, least: str, instead: str) -> Wrong:
    return Wrong(value, f"{variable}={value!r} is not a number greater than {least}; using {instead} instead")


def _no_exporter(signal: str, working: str) -> Wrong:
    return Wrong(
        f"{working},zipkin9",
        f"OTEL_{signal.upper()}_EXPORTER='zipkin9': no exporter of that name is installed; {signal} are not exported "
        "to it (otlp, console and none always work, and prometheus for metrics)",
    )


TOGETHER: Final[dict[str, Wrong]] = {
    "OTEL_MCP_ENABLED": Wrong("maybe", "OTEL_MCP_ENABLED='maybe' is not true or false; using false instead"),
    "OTEL_MCP_CONNECTORS": Wrong(
        "odoo", "OTEL_MCP_CONNECTORS: entry 1 ('odoo') is not of the form name=glob; it is left out"
    ),
    "OTEL_MCP_HOSTS": Wrong(
        "hermes;adk",
        "OTEL_MCP_HOSTS='hermes;adk' is not auto, none or a comma-separated list of hook targets; using auto instead",
    ),
    "OTEL_MCP_STILL_WAITING": Wrong(
        "soon", "OTEL_MCP_STILL_WAITING='soon' is not a positive number of seconds; using 30 instead"
    ),
    "OTEL_MCP_TOOL_LABELS": Wrong(
        "many", "OTEL_MCP_TOOL_LABELS='many' is not a whole number of 0 or more; using 200 instead"
    ),
    "OTEL_MCP_SPANS": Wrong("some", "OTEL_MCP_SPANS='some' is not true or false; using true instead"),
    "OTEL_MCP_CAPTURE_CONTENT": Wrong(
        "a bit", "OTEL_MCP_CAPTURE_CONTENT='a bit' is not true or false; using false instead"
    ),
    "OTEL_MCP_TARGET": Wrong(
        "x", "'OTEL_MCP_TARGET' is no variable of otel_mcp and has no effect; is OTEL_MCP_TARGETS meant?"
    ),
    "OTEL_MCP_CALL_LOG": Wrong(
        f"{NOWHERE}/calls.jsonl",
        f"OTEL_MCP_CALL_LOG='{NOWHERE}/calls.jsonl' cannot be written (No such file or directory); the program goes "
        "on, its calls are not logged until it can be",
    ),
    "OTEL_MCP_TARGETS": Wrong(
        NOWHERE,
        f"OTEL_MCP_TARGETS='{NOWHERE}' cannot be written (No such file or directory); Prometheus has to be told of "
        "127.0.0.1:# another way",
    ),
    "OTEL_SDK_DISABLED": Wrong("maybe", "OTEL_SDK_DISABLED='maybe' is not true or false; using false instead"),
    "OTEL_TRACES_EXPORTER": _no_exporter("traces", "otlp"),
    "OTEL_METRICS_EXPORTER": _no_exporter("metrics", "otlp,prometheus"),
    "OTEL_LOGS_EXPORTER": _no_exporter("logs", "otlp"),
    "OTEL_EXPORTER_PROMETHEUS_PORT": Wrong(
        "94640", "OTEL_EXPORTER_PROMETHEUS_PORT='94640' is not a port from 0 to 65535; using 9464 instead"
    ),
    "OTEL_EXPORTER_OTLP_PROTOCOL": Wrong(
        "carrier-pigeon",
        "OTEL_EXPORTER_OTLP_PROTOCOL='carrier-pigeon' is not one of http/protobuf, grpc; using http/protobuf instead",
    ),
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": Wrong(
        "smoke", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL='smoke' is not one of http/protobuf, grpc; using http/protobuf "
        "instead",
    ),
    "OTEL_EXPORTER_OTLP_HEADERS": Wrong(
        "a=1,secret", "OTEL_EXPORTER_OTLP_HEADERS: entry 2 is not of the form name=value; it is left out"
    ),
    "OTEL_EXPORTER_OTLP_TIMEOUT": _not_a_number("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "0", "10"),
    "OTEL_EXPORTER_OTLP_COMPRESSION": Wrong(
        "zip", "OTEL_EXPORTER_OTLP_COMPRESSION='zip' is not one of none, gzip, deflate; using none instead"
    ),
    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": Wrong(
        "weekly",
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE='weekly' is not one of cumulative, delta, lowmemory; using "
        "cumulative instead",
    ),
    "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": Wrong(
        "mean",
        "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION='mean' is not one of explicit_bucket_histogram, "
        "base2_exponential_bucket_histogram; using explicit_bucket_histogram instead",
    ),
    "OTEL_METRICS_EXEMPLAR_FILTER": Wrong(
        "few",
        "OTEL_METRICS_EXEMPLAR_FILTER='few' is not one of trace_based, always_on, always_off; using trace_based "
        "instead",
    ),
    "OTEL_RESOURCE_ATTRIBUTES": Wrong(
        "site=north,secret", "OTEL_RESOURCE_ATTRIBUTES: entry 2 is not of the form name=value; it is left out"
    ),
    "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": Wrong(
        "sonar", "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS: no detector 'sonar' is installed; it is left out"
    ),
    "OTEL_TRACES_SAMPLER": Wrong(
        "sometimes", "OTEL_TRACES_SAMPLER='sometimes' is not a known sampler; using parentbased_always_on instead"
    ),
    "OTEL_METRIC_EXPORT_INTERVAL": _not_a_number("OTEL_METRIC_EXPORT_INTERVAL", "0", "0", "60000"),
    "OTEL_METRIC_EXPORT_TIMEOUT": _not_a_number("OTEL_METRIC_EXPORT_TIMEOUT", "x", "0", "30000"),
    "OTEL_BSP_SCHEDULE_DELAY": _not_a_number("OTEL_BSP_SCHEDULE_DELAY", "soon", "0", "5000"),
    "OTEL_BSP_MAX_QUEUE_SIZE": _not_a_number("OTEL_BSP_MAX_QUEUE_SIZE", "-1", "0.5", "2048"),
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": Wrong(
        "5000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5000 is more than the queue holds; using 2048 instead"
    ),
    "OTEL_BSP_EXPORT_TIMEOUT": _not_a_number("OTEL_BSP_EXPORT_TIMEOUT", "nan", "0", "30000"),
    "OTEL_BLRP_SCHEDULE_DELAY": _not_a_number("OTEL_BLRP_SCHEDULE_DELAY", "-5", "0", "1000"),
    "OTEL_BLRP_MAX_QUEUE_SIZE": _not_a_number("OTEL_BLRP_MAX_QUEUE_SIZE", "lots", "0.5", "2048"),
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": _not_a_number("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "0", "0.5", "512"),
    "OTEL_BLRP_EXPORT_TIMEOUT": _not_a_number("OTEL_BLRP_EXPORT_TIMEOUT", "inf", "0", "30000"),
}  # fmt: skip
"""Of these each can be wrong without turning anything off, so one process may have them all."""

PROPAGATORS: Final = Wrong(
    "pigeon",
    "OTEL_PROPAGATORS='pigeon' cannot be used (Propagator pigeon not found. It is either misspelled or not "
    "installed.); servers are not told the trace context",
)
"""With it mcp 2.x itself cannot be imported, watched or not."""

TURNING_OFF: Final[dict[str, Wrong]] = {
    "OTEL_EXPORTER_PROMETHEUS_HOST": Wrong(
        "192.0.2.1", "no Prometheus endpoint: 192.0.2.1:0 cannot be listened on (Cannot assign requested address)"
    ),
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": Wrong(
        "localhost:4318",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT='localhost:4318' is not a URL like http://localhost:4318; metrics are not "
        "exported",
    ),
    "OTEL_SPAN_EVENT_COUNT_LIMIT": Wrong(
        "x",
        "OpenTelemetry's SDK cannot be set up for traces (ValueError: OTEL_SPAN_EVENT_COUNT_LIMIT must be a "
        "non-negative integer but got x); traces are not exported",
    ),
    "OTEL_TRACES_SAMPLER_ARG": Wrong(
        "half", "OTEL_TRACES_SAMPLER_ARG='half' is not a ratio from 0 to 1; using 1 instead"
    ),
}
"""These turn a signal off or need another right variable."""

ANYTHING_GOES: Final = frozenset({"OTEL_SERVICE_NAME", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"})
"""Names of the user's own choice."""


def values(wrong: dict[str, Wrong]) -> dict[str, str]:
    """The variables, for a process' environment."""
    return {variable: each.value for variable, each in wrong.items()}


def lines(wrong: dict[str, Wrong]) -> list[str]:
    """What is said of them."""
    return [each.line for each in wrong.values()]
