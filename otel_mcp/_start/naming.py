"""`otel_mcp.connector`: a name for the sessions opened in a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


@contextmanager
def named(variable: ContextVar[str | None], name: str) -> Iterator[None]:
    """Set the variable in this context for the length of the block."""
    token = variable.set(str(name))
    try:
        yield
    finally:
        try:
            variable.reset(token)
        except ValueError:  # left in another context, e.g. by an async generator that was closed elsewhere
            variable.set(None)
