"""pydantic-ai's `MCPToolset`, which calls through the fastmcp client: its `id`, and the connect in front of a call."""

from __future__ import annotations

from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument

TARGET: Final = "pydantic_ai"
MODULES: Final = ("pydantic_ai.mcp",)


def connector_name(toolset: Any) -> str | None:
    """The `id` that was given; None where pydantic-ai took the host of a URL."""
    return str(toolset.id) if toolset.id and getattr(toolset, "_id_explicit", False) else None


def _read(toolset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
    session = getattr(getattr(toolset.client, "_session_state", None), "session", None)
    connector = _layer.connector_of(session) or connector_name(toolset)
    return Asked(connector, argument(args, kwargs, 0, "name")) if connector is not None else None


def judge(call: hooks.Call, toolset: Any, error: BaseException | None) -> None:
    """A server that could not be reached."""
    if _layer.not_sent(call, error):
        call.reject(v.NOT_CONNECTED)


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""

    def call(original: Any) -> Any:
        return _layer.wrap_call(_layer.connects_first(original), _read, switch, judge)

    return [
        Patch(
            TARGET, "pydantic_ai.mcp", "MCPToolset.__aenter__",
            lambda original: _layer.wrap_connect(original, connector_name, switch),
        ),
        Patch(TARGET, "pydantic_ai.mcp", "MCPToolset._call_tool_checked", call),
    ]  # fmt: skip
