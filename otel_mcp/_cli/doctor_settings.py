"""What the variables of this environment lead to: names, endpoint, exporters, files. Nothing is opened for good."""

from __future__ import annotations

import errno
import os
import socket
import urllib.request
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from otel_mcp._cli.doctor_model import Section
from otel_mcp._ground.settings import Settings
from otel_mcp._ground.text import without_secrets
from otel_mcp._record.calllog import fill_in
from otel_mcp._start import standard
from otel_mcp._start.endpoint import DEFAULT_HOST, DEFAULT_PORT, FOLLOWING_PORTS, from_here
from otel_mcp._start.exporters import rehearse
from otel_mcp._start.notices import overheard
from otel_mcp._start.runtime import service_name
from otel_mcp._start.signals import GRPC, METRICS, SIGNALS, Signal

_ANSWER_SECONDS: Final = 2.0
_FREE: Final = "free"
_OURS: Final = "taken by a watched program"
_TAKEN: Final = "taken by another program"


def settings() -> Section:
    """Our own variables, and the names that `OTEL_MCP_CONNECTORS` gives."""
    found = Settings.from_environment()
    disabled = any(
        name.strip() in ("otel_mcp", "*")
        for name in os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")
    )
    section = Section(
        "settings",
        {
            "enabled": found.enabled,
            "service": service_name(os.environ),
            "connectors": dict(found.connectors),
            "hosts": "auto" if found.hosts is None else sorted(found.hosts),
            "spans": found.spans,
            "capture content": found.capture_content,
            "still waiting": f"{found.still_waiting:g} s",
            "tool labels": found.tool_labels,
        },
    )
    section.findings += found.complaints
    if found.enabled and disabled:
        section.findings.append(
            "OTEL_MCP_ENABLED is set and OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names otel_mcp: nothing is watched; "
            "take one of the two away"
        )
    if not found.enabled:
        state = "not true" if os.environ.get("OTEL_MCP_ENABLED", "").strip() else "not set"
        section.notes.append(
            f"OTEL_MCP_ENABLED is {state} here: a program started like this is watched only by `otel-mcp run`, "
            "`opentelemetry-instrument` or `otel_mcp.instrument()`"
        )
    return section


def exporters() -> Section:
    """Where each signal goes by the variables, if the program has no providers of its own."""
    section = Section("exporters")
    if Settings.from_environment().sdk_disabled:
        section.facts["all signals"] = "off by OTEL_SDK_DISABLED; the call log stays"
        return section
    for signal in SIGNALS:
        names = signal.exporters(os.environ)
        section.facts[signal.name] = [
            name if _is_installed(signal, name) else f"{name} (not installed)" for name in names
        ]
        default = "http://localhost:4317" if signal.protocol(os.environ) == GRPC else "http://localhost:4318"
        endpoint = signal.otlp_setting("ENDPOINT", os.environ) or ("the default", default)
        if "otlp" in names and not _answers(endpoint[1]):
            section.findings.append(
                f"nothing listens where {signal.name} are sent ({endpoint[0]}: {without_secrets(endpoint[1])}): "
                "start the collector, or correct the variable"
            )
    with overheard() as said:
        rehearse()
    section.findings += said
    if "prometheus" in METRICS.exporters(os.environ):
        _endpoint(section)
    return section


def _is_installed(signal: Signal, name: str) -> bool:
    """Whether there is an exporter of that name; what OTLP over gRPC lacks is told by a finding."""
    known = name.startswith("otlp") or name == "console" or (signal is METRICS and name == "prometheus")
    return known or bool(entry_points(group=signal.entry_points, name=name))


def _endpoint(section: Section) -> None:
    host = os.environ.get("OTEL_EXPORTER_PROMETHEUS_HOST", "").strip() or DEFAULT_HOST
    with overheard():  # `rehearse` has told of a bad port
        port = standard.port("OTEL_EXPORTER_PROMETHEUS_PORT", DEFAULT_PORT)
    if port == 0:
        section.facts["endpoint"] = f"http://{host}, any free port"
        return
    state = _state_of(host, port)
    section.facts["endpoint"] = f"http://{host}:{port}/metrics ({state})"
    if state == _TAKEN:
        section.findings.append(
            f"port {port} on {host} is taken by another program, so the endpoint will be on the next free one of the "
            f"following {FOLLOWING_PORTS}: set OTEL_EXPORTER_PROMETHEUS_PORT to one that your Prometheus knows"
        )
    elif state not in (_FREE, _OURS):
        section.findings.append(
            f"there will be no Prometheus endpoint, {host}:{port} cannot be listened on ({state}): correct "
            "OTEL_EXPORTER_PROMETHEUS_HOST"
        )


def _state_of(host: str, port: int) -> str:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return error.strerror or str(error)
        return _OURS if _serves_our_metrics(host, port) else _TAKEN
    return _FREE


def _serves_our_metrics(host: str, port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{from_here(host, port)}/metrics", timeout=_ANSWER_SECONDS) as answer:
            return b"otel_mcp_hooks" in answer.read()
    except (OSError, ValueError):
        return False


def _answers(url: str) -> bool:
    """Whether something listens there; True where the URL is none, which is told elsewhere."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return True
    if not host:
        return True
    try:
        socket.create_connection((host, port), timeout=_ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


def files() -> Section:
    """The call log and the targets folder."""
    found = Settings.from_environment()
    section = Section("files", {"call log": found.call_log, "targets": found.targets})
    if found.call_log is not None:
        path = Path(fill_in(found.call_log))
        problem = _why_not_writable(path)
        if problem:
            section.findings.append(f"the call log {path} cannot be written ({problem}): correct OTEL_MCP_CALL_LOG")
    if found.targets is not None:
        folder = Path(found.targets)
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            problem = "no permission" if folder.is_dir() else "no such folder"
            section.findings.append(
                f"OTEL_MCP_TARGETS={found.targets!r} cannot be written ({problem}): make the folder, or name another"
            )
    return section


def _why_not_writable(path: Path) -> str | None:
    if path.is_dir():
        return "it is a folder"
    if path.exists():
        return None if os.access(path, os.W_OK) else "no permission"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return None if os.access(path.parent, os.W_OK | os.X_OK) else f"no permission in {path.parent}"
