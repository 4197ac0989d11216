"""Report what happens above the MCP SDK: calls with their attempts, locks, breakers, keepalives, connects.

Host adapters, `otel_mcp.resilience` and hand-written hosts use these functions; the SDK's own requests are seen
without them. Everything here is harmless: no function raises for a fault of ours, and all of it does nothing but
count while nobody watches. Times are seconds.

A host reports a call like this::

    with hooks.call("odoo", tool="search", limit=30.0) as call:
        async with hooks.lock(self.lock, "odoo"):
            result = await self.session.call_tool("search", arguments)

Requests that the SDK sends inside the block are the call's attempts. What leaves the block decides the outcome,
unless the host says it with `Call.end`.
"""

from __future__ import annotations

from otel_mcp._reports.breakers import Breaker, breaker
from otel_mcp._reports.calls import Attempt, Call, call
from otel_mcp._reports.connects import Connect, connecting, state, tools
from otel_mcp._reports.keepalives import Keepalive, keepalive
from otel_mcp._reports.locks import Lock, lock

__all__ = [
    "Attempt",
    "Breaker",
    "Call",
    "Connect",
    "Keepalive",
    "Lock",
    "breaker",
    "call",
    "connecting",
    "keepalive",
    "lock",
    "state",
    "tools",
]
