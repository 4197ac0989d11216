"""The fastmcp client (fastmcp and fastmcp-slim 3.3 to 4.x), which pydantic-ai and agno call through.

What it tells above the SDK: the connector's configured name (a client's `name`, a key of `mcpServers`, a key of a
`ClientGroup`), the call around several rounds, and that a call on a connection that was lost before never left.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument

TARGET: Final = "fastmcp"
MODULES: Final = ("fastmcp.client.client", "fastmcp.client.group", "fastmcp.client.transports.config")

_GIVEN: Final = "_otel_mcp_connector"
"""On a client: the name that a configuration gives it."""
_GENERATED: Final = re.compile(r"-[0-9a-f]{4}$")
_CLONE: Final = re.compile(r"(:[0-9a-f]{4})+$")


def connector_name(client: Any) -> str | None:
    """The configured name; None where fastmcp made one up, which is another one for each client object."""
    given = vars(client).get(_GIVEN)
    if given is not None:
        return str(given)
    name = _CLONE.sub("", str(getattr(client, "name", "") or ""))
    if name and not (name.startswith(type(client).__name__) and _GENERATED.search(name)):
        return name
    servers = getattr(getattr(getattr(client, "transport", None), "config", None), "mcpServers", None)
    return str(next(iter(servers))) if isinstance(servers, dict) and len(servers) == 1 else None


def _session(client: Any) -> Any:
    return getattr(getattr(client, "_session_state", None), "session", None)


def _connector(client: Any) -> str | None:
    session = _session(client)
    return (_layer.connector_of(session) if session is not None else None) or connector_name(client)


def _reads(method: str, argument_name: str | None) -> _layer.Reads:
    def read(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
        connector = _connector(client)
        target = argument(args, kwargs, 0, argument_name) if argument_name is not None else None
        return Asked(connector, target, method) if connector is not None else None

    return read


def judge(call: hooks.Call, client: Any, error: BaseException | None) -> None:
    """What only fastmcp knows: it cancels a call whose session's task died, and refuses one on a session that had."""
    if not isinstance(error, Exception):
        return
    if call.attempts == 0:
        if not client.is_connected() or _is_over(client):
            call.reject(v.NOT_CONNECTED)
    elif call.last_outcome is Outcome.CANCELLED:
        call.end(Outcome.DISCONNECTED)


def _is_over(client: Any) -> bool:
    task = getattr(getattr(client, "_session_state", None), "session_task", None)
    return task is not None and bool(task.done())


def wrap_group(original: Any, switch: Switch) -> Any:
    """For `ClientGroup.__init__`: its keys are the connectors' names."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if switch.on:
            with guarded("hosts", "the names of a client group"):
                for name, client in dict(self.clients).items():
                    if connector_name(client) is None:
                        setattr(client, _GIVEN, name)

    return __init__


def wrap_proxy(original: Any, switch: Switch) -> Any:
    """For `MCPConfigTransport._create_proxy(name, …)`: one of several configured servers is connected."""

    @functools.wraps(original)
    async def _create_proxy(self: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, name, *args, **kwargs)
        with hooks.connecting(str(name)):
            return await original(self, name, *args, **kwargs)

    return _create_proxy


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""

    def client(path: str, wrap: Any) -> Patch:
        return Patch(TARGET, "fastmcp.client.client", f"Client.{path}", wrap)

    def call(path: str, method: str, argument_name: str | None) -> Patch:
        read = _reads(method, argument_name)
        return client(path, lambda original: _layer.wrap_call(original, read, switch, judge))

    return [
        client("_connect", lambda original: _layer.wrap_connect(original, connector_name, switch)),
        call("call_tool", n.TOOLS_CALL, "name"),
        call("call_tool_mcp", n.TOOLS_CALL, "name"),
        call("get_prompt_mcp", n.PROMPTS_GET, "name"),
        call("read_resource_mcp", n.RESOURCES_READ, None),
        Patch(TARGET, "fastmcp.client.group", "ClientGroup.__init__", lambda o: wrap_group(o, switch), optional=True),
        Patch(
            TARGET, "fastmcp.client.transports.config", "MCPConfigTransport._create_proxy",
            lambda original: wrap_proxy(original, switch), optional=True,
        ),
    ]  # fmt: skip
