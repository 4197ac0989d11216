"""The instrumentor that OpenTelemetry's own tools load: entry point ``otel_mcp``."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from typing import Any, Final

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

_lock = threading.Lock()


def _begin_anew() -> None:
    """In a forked child: the thread that held the lock is not there to let it go."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class OtelMcpInstrumentor(BaseInstrumentor):  # type: ignore[misc] # the base class is not typed
    """Watches MCP client sessions.

    Unlike its base class it is silently idempotent: the start file, ``opentelemetry-instrument``, ``otel-mcp run`` and
    code may all be in use at once, and a second one is no mistake worth a warning.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """The SDK versions that are observed."""
        return ("mcp >= 1.19, < 3",)

    def instrument(self, **kwargs: Any) -> None:
        """Start watching; `tracer_provider`, `meter_provider` and `logger_provider` are used where given.

        The MCP SDK may be imported later, so no dependency is checked here.
        """
        with _lock:
            if self.is_instrumented_by_opentelemetry:
                self._use(kwargs)
            else:
                super().instrument(**{**kwargs, "skip_dep_check": True})

    def uninstrument(self, **kwargs: Any) -> None:
        """Stop watching: also what the start file has put in place."""
        with _lock:
            self._is_instrumented_by_opentelemetry = True  # the start file does not come through here
            super().uninstrument(**kwargs)

    def _instrument(self, **kwargs: Any) -> None:
        from otel_mcp._start import autostart

        self._use(kwargs)
        autostart.arm()

    def _uninstrument(self, **kwargs: Any) -> None:
        from otel_mcp._start import autostart, runtime

        autostart.disarm()
        runtime.stop()
        runtime.forget_given()

    def _use(self, given: dict[str, Any]) -> None:
        from otel_mcp._start.runtime import use_providers

        use_providers({signal: _usable(f"{kind}_provider", f"get_{kind}", given) for signal, kind in _KINDS.items()})


_KINDS: Final = {"traces": "tracer", "metrics": "meter", "logs": "logger"}


def _usable(argument: str, method: str, given: dict[str, Any]) -> Any:
    """The provider that was given; None, with one line on stderr, for what is none."""
    provider = given.get(argument)
    if provider is None or callable(getattr(provider, method, None)):
        return provider
    from otel_mcp._start.notices import say

    say(f"instrument({argument}=…): a value of type {type(provider).__name__!r} has no {method}; it is ignored")
    return None
