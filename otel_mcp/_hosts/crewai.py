"""CrewAI's native MCP client (`crewai.mcp`, mcp 1.x): a fresh connection for each call, and up to three tries.

CrewAI has no names for its servers, so the connector is derived from the target. Its public event bus tells of calls
and connects too, but on threads of its own and without the attempts, so the client is wrapped.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._hosts import _layer
from otel_mcp._hosts._layer import Asked, argument
from otel_mcp._observe import calls

TARGET: Final = "crewai"
MODULES: Final = ("crewai.mcp.client", "crewai.tools.mcp_native_tool")


class _Run:
    """One use of a native tool: its call begins with the connect, where the server is first known."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.call: hooks.Call | None = None


_RUN: Final[ContextVar[_Run | None]] = ContextVar("otel_mcp_crewai_run", default=None)


def connector_name(client: Any) -> str | None:
    """Derived from the command line or the URL, as the SDK layer derives it."""
    transport = client.transport
    return _layer.target_name(
        command=getattr(transport, "command", None),
        args=getattr(transport, "args", None) or (),
        url=getattr(transport, "url", None),
    )


def _read(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked | None:
    connector = connector_name(client)
    return Asked(connector, argument(args, kwargs, 0, "tool_name")) if connector is not None else None


def wrap_run(original: Any, switch: Switch) -> Any:
    """For `MCPNativeTool._run_async`: connect, call with its tries, disconnect."""

    @functools.wraps(original)
    async def _run_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        run = _Run(str(self.original_tool_name))
        token = _RUN.set(run)
        error: BaseException | None = None
        try:
            return await original(self, *args, **kwargs)
        except BaseException as caught:
            error = caught
            raise
        finally:
            _RUN.reset(token)
            if run.call is not None:
                with guarded("hosts", "the outcome of one call of a host"):
                    if _layer.not_sent(run.call, error):
                        run.call.reject(v.NOT_CONNECTED)
                    run.call.__exit__(type(error) if error is not None else None, error, None)

    return _run_async


def wrap_connect(original: Any, switch: Switch) -> Any:
    """For `MCPClient.connect`."""

    @functools.wraps(original)
    async def connect(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        run = _RUN.get()
        with guarded("hosts", "one call of a host"):
            name = connector_name(self)
            if run is not None and run.call is None and name is not None:
                run.call = hooks.call(name, tool=run.tool)
                run.call.__enter__()
                _layer.reconnects()
        return await original(self, *args, **kwargs)

    return connect


def wrap_attempt(original: Any, switch: Switch) -> Any:
    """For `MCPClient._call_tool_impl`: one try, with the limit that the client starts for each."""

    @functools.wraps(original)
    async def _call_tool_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.on:
            return await original(self, *args, **kwargs)
        with guarded("hosts", "the limit of one try"):
            _layer.limited(calls.CURRENT.get(), getattr(self, "execution_timeout", None))
        try:
            return await original(self, *args, **kwargs)
        except BaseException:
            with guarded("hosts", "the back-off of a call"):
                _layer.backs_off()
            raise

    return _call_tool_impl


def patches(switch: Switch) -> list[Patch]:
    """The adapter's rows of the patch table."""

    def client(path: str, wrap: Any) -> Patch:
        return Patch(TARGET, "crewai.mcp.client", f"MCPClient.{path}", wrap)

    return [
        client("connect", lambda original: wrap_connect(original, switch)),
        client("call_tool_result", lambda original: _layer.wrap_call(original, _read, switch)),
        client("_call_tool_impl", lambda original: wrap_attempt(original, switch)),
        Patch(TARGET, "crewai.tools.mcp_native_tool", "MCPNativeTool._run_async", lambda o: wrap_run(o, switch)),
    ]
