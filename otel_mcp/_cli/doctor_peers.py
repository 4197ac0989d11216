"""Other packages that watch MCP clients, and what each does beside us. Tried with the versions named, in 2026-11."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_mcp._cli.doctor_model import Section
from otel_mcp._cli.doctor_packages import distribution_names, installed


@dataclass(frozen=True)
class Peer:
    """`note` is what it does beside us; `on_1`, `on_2` what it breaks with that major of the SDK, None if nothing."""

    distribution: str
    note: str
    on_1: str | None = None
    on_2: str | None = None


_OUT: Final = "uninstall it, or keep it out with OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=mcp"

PEERS: Final = (
    Peer(
        "opentelemetry-instrumentation-mcp",  # 0.62.4
        "Traceloop: spans of its own for the same calls",
        f"turns a time-out or a closed connection into an AttributeError in the program: {_OUT}",
        f"fails to load, and `opentelemetry-instrument` then skips every instrumentor that comes after it: {_OUT}",
    ),
    Peer("openinference-instrumentation-mcp", "OpenInference: propagates the trace context, makes no spans"),  # 2.0.13
    Peer("logfire", "Logfire: second spans on mcp 1.x after logfire.instrument_mcp(), nothing on 2.x"),  # 5.4.0
    Peer("openlit", "OpenLIT: three further spans a call after openlit.init(), and counts each call twice"),  # 1.45.0
    Peer("ddtrace", "Datadog: traces of its own on mcp 1.x under ddtrace-run, nothing on 2.x"),  # 4.16.0
    Peer("newrelic", "New Relic: trace segments of its own, inside its transactions"),  # 14.1.0
    Peer("sentry-sdk", "Sentry: servers only, clients are left alone"),  # 2.75.0
    Peer("splunk-otel-instrumentation-fastmcp", "Splunk: second spans for fastmcp 3 clients"),  # 0.2.2
    Peer("aws-opentelemetry-distro", "ADOT: second spans, and HTTP client spans are left out"),
)


def peers(sdk: str | None) -> Section:
    """Those that are installed; `sdk` is the MCP SDK's version."""
    present = distribution_names()
    section = Section("other instrumentors")
    for peer in PEERS:
        if peer.distribution in present:
            name = f"{peer.distribution} {installed(peer.distribution)}"
            section.facts[peer.distribution] = f"{installed(peer.distribution)}: {peer.note}"
            harm = peer.on_1 if (sdk or "").startswith("1.") else peer.on_2
            if harm is not None and sdk is not None:
                section.findings.append(f"{name} on mcp {sdk} {harm}")
    return section
