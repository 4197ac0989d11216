"""OpenTelemetry for programs that call MCP servers.

Importing this package imports neither OpenTelemetry nor the MCP SDK; what is named here is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_mcp._version import __version__

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from otel_mcp._instrumentor import OtelMcpInstrumentor
    from otel_mcp._ledger.statistics import Statistics

__all__ = ["OtelMcpInstrumentor", "__version__", "connector", "instrument", "statistics", "uninstrument"]


def instrument(*, tracer_provider: Any = None, meter_provider: Any = None, logger_provider: Any = None) -> None:
    """Watch the MCP client sessions of this process; calling it again changes only the providers given.

    A provider that is not given is the program's global one, or else a private one made from the standard
    ``OTEL_…`` variables when the first session begins. Never raises for a fault of ours.
    """
    from otel_mcp._instrumentor import OtelMcpInstrumentor

    OtelMcpInstrumentor().instrument(
        tracer_provider=tracer_provider, meter_provider=meter_provider, logger_provider=logger_provider
    )


def uninstrument() -> None:
    """Undo `instrument` and the start file: patches out, private providers and the endpoint shut down within 2 s."""
    from otel_mcp._instrumentor import OtelMcpInstrumentor

    OtelMcpInstrumentor().uninstrument()


def connector(name: str) -> AbstractContextManager[None]:
    """Name the sessions that are opened inside the ``with`` block; ``OTEL_MCP_CONNECTORS`` comes before it."""
    from otel_mcp._observe.scopes import NAME
    from otel_mcp._start.naming import named

    return named(NAME, name)


def statistics() -> Statistics:
    """A frozen snapshot of what this process has seen: connectors, calls by outcome, what is open now."""
    from otel_mcp._ledger.ledger import ledger
    from otel_mcp._ledger.statistics import snapshot

    return snapshot(ledger)


def __getattr__(name: str) -> Any:
    if name == "OtelMcpInstrumentor":
        from otel_mcp._instrumentor import OtelMcpInstrumentor

        return OtelMcpInstrumentor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
