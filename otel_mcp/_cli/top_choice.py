"""Where `otel-mcp top` looks: what it was given, else where a program with the variables of here can be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from otel_mcp._cli.top_endpoint import Endpoint, Endpoints
from otel_mcp._cli.top_log import Log
from otel_mcp._cli.top_model import Source, Unreadable
from otel_mcp._ground.settings import Settings
from otel_mcp._start import standard, targets
from otel_mcp._start.endpoint import DEFAULT_HOST, DEFAULT_PORT, from_here
from otel_mcp._start.notices import overheard

DEFAULT: Final = (
    "the call log in OTEL_MCP_CALL_LOG, else the endpoints of the running programs in OTEL_MCP_TARGETS, else the "
    "endpoint at OTEL_EXPORTER_PROMETHEUS_HOST and OTEL_EXPORTER_PROMETHEUS_PORT, which unset is "
    f"http://{DEFAULT_HOST}:{DEFAULT_PORT}/metrics"
)
"""The order in which a source is chosen, for the help."""


def source(given: str | None) -> Source:
    """The source to look at. Raises Unreadable where the variables name none."""
    if given:
        looks_like_url = "://" in given or (":" in given and not Path(given).exists())
        return Endpoint(given) if looks_like_url else Log(given)
    settings = Settings.from_environment()
    if settings.call_log is not None:
        return Log(settings.call_log)
    if settings.targets is not None and targets.addresses(settings.targets):
        return Endpoints(settings.targets)
    return Endpoint(_address())


def _address() -> str:
    host = os.environ.get("OTEL_EXPORTER_PROMETHEUS_HOST", "").strip() or DEFAULT_HOST
    with overheard():  # the watched program has told of a bad port, and takes the default as we do
        port = standard.port("OTEL_EXPORTER_PROMETHEUS_PORT", DEFAULT_PORT)
    if port == 0:
        raise Unreadable(
            "OTEL_EXPORTER_PROMETHEUS_PORT=0 lets a program listen on any port: name its endpoint, as in "
            f"`otel-mcp top http://{from_here(host, DEFAULT_PORT)}/metrics`, or let programs tell theirs with "
            "OTEL_MCP_TARGETS"
        )
    return from_here(host, port)
