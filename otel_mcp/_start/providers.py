"""Whose providers the records go to, for traces, metrics and logs separately: the program's own, else ours.

A program that sets up OpenTelemetry keeps it: its providers are used and nothing of ours stands beside them. Programs
set them at any time, so `Providers.check` asks before every attempt whether the global ones have changed. Where the
program has none, a private provider is made from the standard variables; it is never set as the global one, so the
program may still set its own. Then the private one is shut down, its endpoint closed, and the records go to the
program's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from opentelemetry import trace as _trace_api
from opentelemetry._logs import _internal as _logs_api
from opentelemetry.metrics import _internal as _metrics_api

from otel_mcp._ground.guard import guarded
from otel_mcp._start.exit import EXIT_SECONDS, Farewell, wait_for
from otel_mcp._start.histograms import showable
from otel_mcp._start.notices import say
from otel_mcp._start.quiet import ours, resources_are_ours
from otel_mcp._start.signals import LOGS, METRICS, SIGNALS, TRACES, Signal

if TYPE_CHECKING:
    from otel_mcp._start.endpoint import Endpoint
    from otel_mcp._start.targets import Target

ours(__name__)


class Binder(Protocol):
    """The part of the recorder that takes providers; None means that the signal is not recorded."""

    def bind_tracer_provider(self, provider: Any | None) -> None: ...
    def bind_meter_provider(self, provider: Any | None) -> None: ...
    def bind_logger_provider(self, provider: Any | None) -> None: ...


@dataclass
class _Private:
    provider: Any
    farewell: Farewell | None
    """None where a shutdown cannot take long."""
    endpoint: Endpoint | None = None
    target: Target | None = None

    def begin_farewell(self) -> None:
        """Stop serving and start to send what is left, without waiting."""
        if self.target is not None:
            self.target.remove()
        if self.endpoint is not None:
            self.endpoint.close()
        if self.farewell is not None:
            self.farewell.begin()
        else:
            self.provider.shutdown()


_UNDECIDED: Final = object()


class Providers:
    """Binds `recorder` to the right provider of each signal.

    `disabled` names the signals that are not wanted. `service` and `instance` name the process in private telemetry;
    `targets` is the ``file_sd`` folder or None.
    """

    def __init__(
        self, recorder: Binder, *, disabled: frozenset[str], service: str, instance: str, targets: str | None
    ) -> None:
        self._recorder = recorder
        self._disabled = disabled
        self._service = service
        self._instance = instance
        self._targets = targets
        self._lock = threading.RLock()
        self._explicit: dict[str, Any] = {}
        self._private: dict[str, _Private | None] = {}
        self._bound: dict[str, Any] = {signal.name: _UNDECIDED for signal in SIGNALS}
        self._leaving: list[Farewell] = []
        self._closed = False
        self.check = _watcher(self.decide)
        """To be called before every attempt: decides again if a global provider has changed."""

    # --- deciding -------------------------------------------------------------------------------------------------
    def use(self, given: Mapping[str, Any]) -> None:
        """Providers handed over by code, by signal name; they come before the global ones."""
        with self._lock:
            self._explicit.update({name: provider for name, provider in given.items() if provider is not None})
            self.decide()

    def decide(self) -> None:
        """Bind every signal to the provider that is right now."""
        with self._lock:
            if self._closed:
                return
            for signal in SIGNALS:
                with guarded("providers", f"this process' {signal.name}"):
                    self._decide_one(signal, self._explicit.get(signal.name) or _GLOBAL[signal.name]())

    def _decide_one(self, signal: Signal, own: Any | None) -> None:
        if signal.name in self._disabled:
            provider = None
        elif own is not None:
            provider = own
        else:
            provider = self._private_provider(signal)
        if provider is self._bound[signal.name]:
            return
        self._bound[signal.name] = provider
        _BIND[signal.name](self._recorder, provider)
        if own is not None:
            self._retire(signal)

    def _private_provider(self, signal: Signal) -> Any | None:
        if signal.name not in self._private:
            self._private[signal.name] = self._make_or_say(signal)
        private = self._private[signal.name]
        return private.provider if private is not None else None

    def _retire(self, signal: Signal) -> None:
        private = self._private.pop(signal.name, None)
        if private is None:
            return
        if private.endpoint is not None:
            say(
                "the program has set its own meter provider: metrics go there, "
                f"and the endpoint on {private.endpoint.address} is closed"
            )
        private.begin_farewell()
        if private.farewell is not None:
            self._leaving.append(private.farewell)

    # --- making -----------------------------------------------------------------------------------------------------
    def _make_or_say(self, signal: Signal) -> _Private | None:
        try:
            with resources_are_ours():
                return self._make(signal)
        except Exception as error:  # noqa: BLE001 - the SDK raises for some values of its variables
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            say(f"OpenTelemetry's SDK cannot be set up for {signal.name} ({reason}); {signal.name} are not exported")
            return None

    def _make(self, signal: Signal) -> _Private | None:
        from otel_mcp._start import exporters

        if signal is METRICS:
            return self._make_metrics()
        if not signal.exporters(os.environ):
            return None
        resource = exporters.make_resource(self._service, self._instance)
        make = exporters.make_tracer_provider if signal is TRACES else exporters.make_logger_provider
        provider: Any = make(resource)
        return None if provider is None else _Private(provider, Farewell(provider.shutdown, signal.name))

    def _make_metrics(self) -> _Private | None:
        names = METRICS.exporters(os.environ)
        if not names:
            return None
        from otel_mcp._start import exporters

        pushing = exporters.make_readers()
        endpoint = target = None
        if "prometheus" in names:
            from otel_mcp._start.endpoint import open_endpoint

            endpoint = open_endpoint()
        if endpoint is None and not pushing:
            return None
        readers = [*pushing, *([endpoint.reader] if endpoint is not None else ())]
        provider = exporters.make_meter_provider(exporters.make_resource(self._service, self._instance), readers)
        if endpoint is not None and self._targets:
            from otel_mcp._start.targets import Target

            target = Target(self._targets, endpoint.address, self._service)
        farewell = Farewell(provider.shutdown, METRICS.name) if pushing else None
        return _Private(provider, farewell, endpoint, target)

    # --- ending -----------------------------------------------------------------------------------------------------
    def begin_close(self) -> None:
        """Start to shut down whatever is private, without waiting; nothing is bound any more afterwards."""
        with self._lock:
            self._closed = True
            for private in self._private.values():
                if private is not None:
                    with guarded("exit", "the last telemetry"):
                        private.begin_farewell()
                    if private.farewell is not None:
                        self._leaving.append(private.farewell)
            self._private.clear()

    def finish_close(self, deadline: float) -> None:
        """Wait until it is shut down, but not past `deadline` on the monotonic clock."""
        if not wait_for(self._leaving, deadline):
            say(f"the last telemetry could not be sent within the {EXIT_SECONDS:g} s of an exit and is lost")

    def unbind(self) -> None:
        """Let the recorder record no signal."""
        for bind in _BIND.values():
            bind(self._recorder, None)

    def forget(self) -> None:
        """In a forked child: give up what belongs to the parent."""
        for private in self._private.values():
            if private is not None and private.endpoint is not None:
                private.endpoint.forget()

    def in_force(self) -> dict[str, str]:
        """For each signal where it goes: ``own`` (the program's provider), ``private`` or ``none``."""
        words = {}
        for signal in SIGNALS:
            bound, private = self._bound[signal.name], self._private.get(signal.name)
            if bound is None or bound is _UNDECIDED:
                words[signal.name] = "none"
            else:
                words[signal.name] = "private" if private is not None and bound is private.provider else "own"
        return words

    @property
    def endpoint(self) -> str | None:
        """``host:port`` of the Prometheus endpoint, or None."""
        private = self._private.get(METRICS.name)
        return private.endpoint.address if private is not None and private.endpoint is not None else None


def _watcher(decide: Callable[[], None]) -> Callable[[], None]:
    """A function that calls `decide()` if a global provider is another one than at its last call.

    It runs before every attempt, so it is a closure that compares three variables: 65 to 120 ns more than an empty
    call, by the Python. The API's own getters look an environment variable up while nothing is set: a microsecond each.
    """
    tracer: Any = None
    meter: Any = None
    logger: Any = None

    def check() -> None:
        nonlocal tracer, meter, logger
        if (
            _trace_api._TRACER_PROVIDER is not tracer
            or _metrics_api._METER_PROVIDER is not meter
            or _logs_api._LOGGER_PROVIDER is not logger
        ):
            tracer, meter, logger = (ask() for ask in _GLOBAL.values())
            with guarded("providers", "the change to another provider"):
                decide()

    return check


_GLOBAL: Final[dict[str, Callable[[], Any]]] = {
    TRACES.name: lambda: _trace_api._TRACER_PROVIDER,
    METRICS.name: lambda: _metrics_api._METER_PROVIDER,
    LOGS.name: lambda: _logs_api._LOGGER_PROVIDER,
}
"""The program's own provider of each signal, None while it has set none."""

_BIND: Final[dict[str, Callable[[Binder, Any], None]]] = {
    TRACES.name: lambda recorder, provider: recorder.bind_tracer_provider(provider),
    METRICS.name: lambda recorder, provider: recorder.bind_meter_provider(showable(provider)),
    LOGS.name: lambda recorder, provider: recorder.bind_logger_provider(provider),
}
