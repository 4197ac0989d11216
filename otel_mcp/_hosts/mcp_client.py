"""The SDK's own `mcp.Client` (2.x): one call around its rounds and its second send.

A server may answer `input_required` several times before it gives its result; these rounds are one attempt of one
call. The request that is sent again after `HEADER_MISMATCH` is another attempt. 1.x has no such client.
"""

from __future__ import annotations

from typing import Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument

TARGET: Final = "mcp_client"
MODULES: Final = ("mcp.client.client",)


def _reads(method: str, argument_name: str | None) -> _layer.Reads:
    def read(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
        connector = _layer.connector_of(getattr(client, "_session", None))
        target = argument(args, kwargs, 0, argument_name) if argument_name is not None else None
        return Asked(connector, target, method) if connector is not None else None

    return read


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""

    def call(path: str, method: str, argument_name: str | None) -> Patch:
        read = _reads(method, argument_name)
        wrap = lambda original: _layer.wrap_call(original, read, switch)  # noqa: E731 - a row is one expression
        return Patch(TARGET, "mcp.client.client", f"Client.{path}", wrap)

    return [
        call("call_tool", n.TOOLS_CALL, "name"),
        call("get_prompt", n.PROMPTS_GET, "name"),
        call("read_resource", n.RESOURCES_READ, None),
    ]
