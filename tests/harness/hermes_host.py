"""Hermes Agent, driven as its agent loop drives it: servers registered by configuration, tools called by dispatch.

Needs the package `hermes-agent`.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from tools import mcp_tool as hermes
from tools.registry import registry

from harness.servers import HttpServer, StdioServer
from otel_mcp import testing

LIMIT = 1.5
"""Seconds a tool call may take where a test waits for the limit; servers hang for ever."""
ROOMY = 30.0
LEFT_BY_HERMES = (
    "ignore:Exception ignored in.*AsyncHTTP11Connection:pytest.PytestUnraisableExceptionWarning",
    "ignore:coroutine method 'aclose' of 'AsyncHTTP11Connection:RuntimeWarning",
)
"""Warnings of httpcore when it is collected: Hermes stops its loop over answers that are half read."""


class Host:
    """Hermes with servers of ours."""

    def register(self, name: str, server: StdioServer | HttpServer, **config: Any) -> None:
        where: dict[str, Any]
        if isinstance(server, HttpServer):
            where = {"url": server.target}
        else:
            where = {"command": server.target.command, "args": list(server.target.args), "env": server.target.env or {}}
        hermes.register_mcp_servers({name: {"timeout": ROOMY, **where, **config}})

    def call(self, server: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the model would be given."""
        answer: dict[str, Any] = json.loads(registry.dispatch(f"mcp__{server}__{tool}", arguments))
        return answer

    def in_background(self, server: str, tool: str, **arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=self.call, args=(server, tool), kwargs=arguments, daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Servers end, and what Hermes keeps of their breakers."""
        hermes.shutdown_mcp_servers()
        for state in (hermes._server_error_counts, hermes._server_breaker_opened_at):
            state.clear()


def labels(**given: Any) -> dict[str, Any]:
    return {f"otel_mcp.{name.replace('__', '.')}": value for name, value in given.items()}


def strikes(seen: testing.Capture, server: str) -> dict[str, float]:
    points = seen.metric("otel_mcp.client.breaker.strikes", labels(connector=server))
    return {str(point.attributes["otel_mcp.breaker.cause"]): point.value for point in points if point.value}


def breaker_state(seen: testing.Capture, server: str) -> str:
    points = seen.metric("otel_mcp.client.breaker.state", labels(connector=server))
    (state,) = (str(point.attributes["otel_mcp.breaker.state"]) for point in points if point.value)
    return state


def state(seen: testing.Capture, server: str) -> str:
    points = seen.metric("otel_mcp.client.connector.state", labels(connector=server))
    (found,) = (str(point.attributes["otel_mcp.state"]) for point in points if point.value)
    return found


def reasons(seen: testing.Capture, server: str) -> list[str]:
    return [event.fields["reason"] for event in seen.events("connect") if event.connector == server]


def last(seen: testing.Capture) -> testing.Call:
    return seen.calls[-1]
