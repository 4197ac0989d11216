"""What is special about mcp 2.x: it makes spans of its own, and some requests pass `send_request` by."""

from __future__ import annotations

import functools
import math
from types import TracebackType
from typing import Any, Final

import anyio
from opentelemetry.context import attach
from opentelemetry.trace import INVALID_SPAN, SpanKind

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import CONNECTING, Attempt, Session
from otel_mcp._observe import attempts, scopes, sessions
from otel_mcp._sdk import calls, http, lifecycle, link, requests

_SESSION: Final = "mcp.client.session"
_DISPATCHER: Final = "mcp.shared.jsonrpc_dispatcher"
_OWNER: Final = "_otel_mcp_session"
DISCOVER_TIMEOUT: Final = 10.0
"""Seconds; the SDK's own constant for `server/discover`, read from it where it is there."""


class V2:
    """Requests carry `method` and `params` themselves."""

    makes_spans = True

    def describe(self, request: Any) -> tuple[str, Any]:
        return request.method, getattr(request, "params", None)

    def next_id(self, sdk_session: Any) -> Any:
        """Exact: the dispatcher takes the id before its first await."""
        dispatcher = sdk_session._dispatcher
        pending = getattr(dispatcher, "_pending", None)
        if pending is None:
            return ("direct", object())  # an in-process peer: there is no JSON-RPC and no id
        key = dispatcher._next_id + 1
        while key in pending:
            key += 1
        return key

    def with_context(self, request: Any, attempt: Attempt) -> Any:
        return request  # the SDK injects the current context, which is the attempt's

    def verdict(self, method: str, result: Any) -> Verdict:
        if getattr(result, "result_type", None) == "input_required":
            return v.INPUT_REQUIRED
        if method == n.TOOLS_CALL and getattr(result, "is_error", False):
            return v.FAILED_BY_TOOL
        return v.OK

    def learn(self, session: Session, method: str, params: Any, result: Any) -> None:
        if method == n.TOOLS_LIST:
            first = getattr(params, "cursor", None) is None
            names = [tool.name for tool in result.tools]
            harmless = [tool.name for tool in result.tools if getattr(tool.annotations, "read_only_hint", None) is True]
            ledger.listed(session.connector, names, harmless, first_page=first)


class _Ours:
    """Makes the attempt's span current where the SDK would make its own, and hands the SDK one that records nothing.

    The SDK's status texts go to that one: they are content.
    """

    __slots__ = ("_attempt", "_token")

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def __enter__(self) -> Any:
        self._token = attach(self._attempt.context)
        return INVALID_SPAN

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        requests.leave(self._attempt.context, self._token)


def wrap_otel_span(original: Any, switch: Switch) -> Any:
    """For the SDK's `otel_span`: exactly one CLIENT span a request, and it is ours."""

    @functools.wraps(original)
    def otel_span(name: str, *args: Any, **kwargs: Any) -> Any:
        attempt = requests.CLAIM.get()
        if attempt is not None and switch.on and _is_for(attempt, kwargs):
            attempt.claimed = True
            return _Ours(attempt)
        return original(name, *args, **kwargs)

    return otel_span


def _is_for(attempt: Attempt, kwargs: dict[str, Any]) -> bool:
    if attempt.claimed or attempt.context is None:
        return False
    attributes = kwargs.get("attributes") or {}
    return kwargs.get("kind") is SpanKind.CLIENT and attributes.get(n.MCP_METHOD_NAME) == attempt.method


def wrap_send_discover(original: Any, major: V2, switch: Switch) -> Any:
    """For `ClientSession.send_discover`, which hands its request to the dispatcher itself."""

    @functools.wraps(original)
    async def send_discover(self: Any, *args: Any, **kwargs: Any) -> Any:
        attempt = None
        if switch.on:
            with guarded("requests", "one request"):
                session = link.entry(self)
                attempt = requests.begin(session, n.DISCOVER, None, major.next_id(self), _discover_timeout())
        if attempt is None:
            return await original(self, *args, **kwargs)
        token = requests.CLAIM.set(attempt)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as error:
            requests.fail(attempt, error)
            raise
        else:
            with guarded("requests", "the end of one request"):
                requests.answered(attempt, v.OK)
            return result
        finally:
            scopes.leave(requests.CLAIM, token)

    return send_discover


@functools.cache
def _discover_timeout() -> float:
    from mcp.client import session

    return float(getattr(session, "DISCOVER_TIMEOUT_SECONDS", DISCOVER_TIMEOUT))


def wrap_direct(original: Any, switch: Switch) -> Any:
    """For `DirectDispatcher.send_raw_request`: an in-process peer finds its parent in the current context."""

    @functools.wraps(original)
    async def send_raw_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        attempt = requests.CLAIM.get()
        if attempt is None or attempt.claimed or attempt.context is None or not switch.on:
            return await original(self, *args, **kwargs)
        attempt.claimed = True
        with _Ours(attempt):
            return await original(self, *args, **kwargs)

    return send_raw_request


def wrap_adopt(original: Any, switch: Switch) -> Any:
    """For `ClientSession.adopt`: the handshake's result, or one the caller already held."""

    @functools.wraps(original)
    def adopt(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if switch.on:
            with guarded("sessions", "a handshake"):
                session = link.entry(self)
                if session.state == CONNECTING:
                    info = getattr(self, "server_info", None)
                    sessions.ready(session, getattr(self, "protocol_version", None), getattr(info, "name", None))
        return result

    return adopt


def wrap_session_enter(original: Any, switch: Switch) -> Any:
    """For `ClientSession.__aenter__`: the dispatcher has to know its session, since it ends first."""
    entered = lifecycle.wrap_enter(original, switch)

    @functools.wraps(original)
    async def __aenter__(self: Any) -> Any:
        result = await entered(self)
        dispatcher = getattr(self, "_dispatcher", None)
        session = link.known(self)
        if session is not None and hasattr(dispatcher, "__dict__"):
            vars(dispatcher)[_OWNER] = session
        return result

    return __aenter__


def wrap_resolve_pending(original: Any, switch: Switch) -> Any:
    """For `JSONRPCDispatcher._resolve_pending`: an answer arrived, in time or late."""

    @functools.wraps(original)
    def _resolve_pending(self: Any, request_id: Any, outcome: Any) -> Any:
        session = self.__dict__.get(_OWNER) if switch.on else None
        if session is not None:
            try:
                attempts.answered(session, link.request_id(request_id))
            except Exception as error:  # noqa: BLE001 - the answer is handed on whatever happens here
                guard.caught("requests", "a late answer", error)
        return original(self, request_id, outcome)

    return _resolve_pending


def wrap_fan_out(original: Any, switch: Switch) -> Any:
    """For `JSONRPCDispatcher._fan_out_closed`: the connection ended."""

    @functools.wraps(original)
    def _fan_out_closed(self: Any) -> Any:
        session = vars(self).get(_OWNER) if switch.on else None
        if session is not None and not session.closed_by_us and not session.retired:
            with guarded("sessions", "the end of a connection"):
                # A caller that cancels the scope around transport and session ends the transport's reader first: the
                # end of the stream is then our side's doing, and the open calls are cancelled, not disconnected.
                if anyio.current_effective_deadline() != -math.inf:
                    sessions.lost(session)
        return original(self)

    return _fan_out_closed


def _method(context: Any, method: str, *rest: Any) -> str | None:
    return method


def untold(sdk_session: Any) -> list[Any]:
    """2.x tells every waiter."""
    return []


def patches(switch: Switch) -> list[Patch]:
    """The rows that only 2.x has."""
    major = V2()

    def row(path: str, wrap: Any) -> Patch:
        return Patch("mcp", _SESSION, f"ClientSession.{path}", wrap)

    def dispatcher(path: str, wrap: Any) -> Patch:
        return Patch("mcp", _DISPATCHER, path, wrap)

    return [
        row("send_request", lambda original: requests.wrapper(original, major, switch)),
        row("send_discover", lambda original: wrap_send_discover(original, major, switch)),
        row("call_tool", lambda original: calls.wrapper(original, n.TOOLS_CALL, switch)),
        row("read_resource", lambda original: calls.wrapper(original, n.RESOURCES_READ, switch)),
        row("get_prompt", lambda original: calls.wrapper(original, n.PROMPTS_GET, switch)),
        row("__aenter__", lambda original: wrap_session_enter(original, switch)),
        row("__aexit__", lambda original: lifecycle.wrap_exit(original, switch, untold)),
        row("adopt", lambda original: wrap_adopt(original, switch)),
        row("_on_request", lambda original: lifecycle.wrap_held(original, switch, _method)),
        row("_on_notify", lambda original: lifecycle.wrap_held(original, switch, _method)),
        row("_on_stream_exception", lambda original: lifecycle.wrap_noise(original, switch)),
        dispatcher("otel_span", lambda original: wrap_otel_span(original, switch)),
        dispatcher("JSONRPCDispatcher._resolve_pending", lambda original: wrap_resolve_pending(original, switch)),
        dispatcher("JSONRPCDispatcher._fan_out_closed", lambda original: wrap_fan_out(original, switch)),
        Patch(
            "mcp", "mcp.shared.direct_dispatcher", "DirectDispatcher.send_raw_request", lambda o: wrap_direct(o, switch)
        ),
        Patch(
            "mcp",
            "mcp.client.streamable_http",
            "StreamableHTTPTransport._resolve_abandoned_request",
            lambda original: http.wrap_abandoned(original, switch),
        ),
        Patch("mcp", "httpx2", "AsyncHTTPTransport.handle_async_request", lambda o: http.wrap_transport(o, switch)),
    ]


__all__ = ["V2", "patches"]
