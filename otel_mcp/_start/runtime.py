"""The process' telemetry, started with its first client session and ended with the process.

Importing this module opens nothing. `ensure_started` reads the variables, opens the call log, finds or makes the
providers and arms exit and fork; servers, package installers and pool workers never call it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground.guard import guarded
from otel_mcp._ground.settings import Settings
from otel_mcp._start import exit as _exit
from otel_mcp._start import fork, standard
from otel_mcp._start.notices import say
from otel_mcp._version import __version__

if TYPE_CHECKING:
    from otel_mcp._observe.watcher import Watcher
    from otel_mcp._record.calllog import CallLog
    from otel_mcp._record.recorder import Recorder
    from otel_mcp._start.providers import Providers

_PATIENCE: Final = 5.0
"""Seconds that a thread waits for another one's start-up, which takes tenths of one. What takes longer may be waiting
for this very thread, for a module that it is importing: it goes on without telemetry then."""


class _Runtime:
    """What one process has running; a forked child begins with a new one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.starting = False
        self.started = False
        self.providers: Providers | None = None
        self.call_log: CallLog | None = None
        self.watcher: Watcher | None = None
        self.given: dict[str, Any] = {}


_runtime = _Runtime()


def ensure_started() -> None:
    """Start this process' telemetry if it is not running; never raises.

    Called at each client session and connector, from any thread. Once started it costs an attribute; a thread that
    comes while another one starts it waits, or its first session would have neither telemetry nor connector rules.
    """
    if not _runtime.started:
        _start_once(_runtime)


def use_providers(given: Mapping[str, Any]) -> None:
    """Providers that code hands over, by signal (``traces``, ``metrics``, ``logs``); None is no provider."""
    with _runtime.lock:
        _runtime.given.update({signal: provider for signal, provider in given.items() if provider is not None})
        if _runtime.providers is not None:
            _runtime.providers.use(_runtime.given)


def forget_given() -> None:
    """Forget the providers that code has handed over."""
    with _runtime.lock:
        _runtime.given.clear()


def stop(timeout: float = _exit.EXIT_SECONDS) -> None:
    """End what was started, within `timeout` seconds: open calls are recorded, the log and private providers flushed.

    `ensure_started` may start it again.
    """
    with _runtime.lock:
        if not _runtime.started:
            return
        _runtime.started = False
        deadline = time.monotonic() + timeout
        with guarded("exit", "the last records"):
            _stop(_runtime, deadline)


def in_force() -> dict[str, str | None]:
    """Where each signal goes (``own``, ``private``, ``none``), and ``endpoint`` as host:port or None."""
    providers = _runtime.providers
    if providers is None:
        return {"traces": "none", "metrics": "none", "logs": "none", "endpoint": None}
    return {**providers.in_force(), "endpoint": providers.endpoint}


def _start_once(runtime: _Runtime) -> None:
    if not runtime.lock.acquire(timeout=_PATIENCE):
        return
    try:
        if runtime.started or runtime.starting:
            return  # another thread was faster, or start-up itself has come back here
        runtime.starting = True
        try:
            with guarded("start", "this process' telemetry"):
                _start(runtime)
        finally:
            # Whatever came of it: a fault in there must not come back at every session.
            runtime.starting, runtime.started = False, True
    finally:
        runtime.lock.release()


def _start(runtime: _Runtime) -> None:
    from otel_mcp._ledger.ledger import ledger
    from otel_mcp._observe.scopes import on_orphan
    from otel_mcp._observe.waiting import orphaned
    from otel_mcp._observe.watcher import Watcher
    from otel_mcp._record.recorder import recorder

    settings = Settings.from_environment()
    for complaint in settings.complaints:
        say(complaint)
    fork.arm(_after_fork_in_child)
    _exit.arm(stop)
    service, instance = service_name(os.environ), uuid.uuid4().hex
    recorder.settings = settings
    ledger.name_rules = settings.connectors
    ledger.labels.tool_labels = settings.tool_labels
    if settings.call_log is not None:
        from otel_mcp._record.calllog import CallLog

        common = {"service": service, "instance": instance, "pid": os.getpid(), "version": __version__}
        runtime.call_log = CallLog(settings.call_log, common, say)
        recorder.call_log = runtime.call_log
    runtime.providers = _providers(recorder, settings, service, instance)
    if runtime.providers is not None:
        runtime.providers.use(runtime.given)
        recorder.before_attempt = runtime.providers.check
    runtime.watcher = Watcher(settings.still_waiting)
    ledger.opened = runtime.watcher.opened
    on_orphan(orphaned)


def _providers(recorder: Recorder, settings: Settings, service: str, instance: str) -> Providers | None:
    """None, and one line, where there is no OpenTelemetry or one that is too old to have logs."""
    try:
        from otel_mcp._start.providers import Providers
    except ImportError as error:
        say(
            f"no spans, metrics and log records: OpenTelemetry is missing or too old here ({error}); the call log "
            f"stays (`{sys.executable} -m pip install --upgrade otel-mcp-client` brings what is needed)"
        )
        return None
    standard.check_propagators()
    return Providers(
        recorder,
        disabled=_disabled(settings),
        service=service,
        instance=instance,
        targets=settings.targets,
    )


def _disabled(settings: Settings) -> frozenset[str]:
    """Names of the signals that are not wanted at all: no exporter and no thread is made for them."""
    if settings.sdk_disabled:
        return frozenset({"traces", "metrics", "logs"})
    return frozenset() if settings.spans else frozenset({"traces"})


def _stop(runtime: _Runtime, deadline: float) -> None:
    from otel_mcp._observe.scopes import forget_orphan
    from otel_mcp._observe.shutdown import close_open_calls
    from otel_mcp._observe.waiting import orphaned
    from otel_mcp._record.recorder import recorder

    forget_orphan(orphaned)
    if runtime.watcher is not None:
        runtime.watcher.stop()
    with guarded("exit", "the calls that were still open"):
        close_open_calls()
    providers, runtime.providers = runtime.providers, None
    recorder.before_attempt = None
    if providers is not None:
        providers.begin_close()
    call_log, runtime.call_log, recorder.call_log = runtime.call_log, None, None
    if call_log is not None:
        call_log.close(max(0.0, deadline - time.monotonic()))
    if providers is not None:
        providers.finish_close(deadline)
        providers.unbind()


def _after_fork_in_child() -> None:
    """Drop what belongs to the parent; this process' own telemetry starts with its first session or attempt."""
    global _runtime
    parent, _runtime = _runtime, _Runtime()
    _runtime.given = parent.given
    if not (parent.started or parent.starting):
        return
    with guarded("fork", "the child's telemetry"):
        from otel_mcp._ledger.ledger import ledger
        from otel_mcp._record.recorder import recorder
        from otel_mcp._start.exporters import silence_after_fork

        silence_after_fork()
        if parent.providers is not None:
            parent.providers.forget()
        if parent.call_log is not None:
            parent.call_log.reset_after_fork()
        recorder.reset()
        ledger.reset()
        recorder.before_attempt = ensure_started


def service_name(environ: Mapping[str, str]) -> str:
    """The process' service as the standard variables name it; OpenTelemetry's own default if they do not."""
    name = environ.get("OTEL_SERVICE_NAME", "").strip()
    if name:
        return name
    for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, _, value = pair.partition("=")
        if key.strip() == "service.name" and value.strip():
            from urllib.parse import unquote

            return unquote(value.strip())
    return f"unknown_service:{os.path.basename(sys.executable) or 'python'}"  # noqa: PTH119 - a name, not a file
