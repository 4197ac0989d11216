"""What is special about mcp 1.x."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Final, SupportsIndex

import wrapt

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Patch, Switch
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.model import CONNECTING, Attempt, Session
from otel_mcp._observe import scopes, sessions
from otel_mcp._sdk import calls, http, lifecycle, link, requests, v1_answers

_SESSION: Final = "mcp.client.session"
_META: Final = "_meta"


class V1:
    """Requests are `ClientRequest` with the real one in `.root`."""

    makes_spans = False

    def describe(self, request: Any) -> tuple[str, Any]:
        root = getattr(request, "root", request)
        return root.method, getattr(root, "params", None)

    def next_id(self, sdk_session: Any) -> Any:
        # Exact: the SDK takes the id before its first await.
        return sdk_session._request_id

    def with_context(self, request: Any, attempt: Attempt) -> Any:
        """The request with trace context in `_meta`; the caller's own object stays as it is."""
        ask = _carrier()
        carrier = ask(attempt.span_context, attempt.context) if ask is not None else None
        if not carrier:
            return request
        meta = getattr(request.root.params, "meta", None)
        return _Carrying(request, carrier, {} if meta is None else {**(meta.model_extra or {})})

    def verdict(self, method: str, result: Any) -> Verdict:
        if method == n.TOOLS_CALL and result.isError:
            return v.FAILED_BY_TOOL
        return v.OK

    def learn(self, session: Session, method: str, params: Any, result: Any) -> None:
        if method == n.INITIALIZE and session.state == CONNECTING:
            server = getattr(getattr(result, "serverInfo", None), "name", None)
            sessions.ready(session, str(result.protocolVersion), server)
        elif method == n.TOOLS_LIST:
            first = getattr(params, "cursor", None) is None
            names = [tool.name for tool in result.tools]
            harmless = [tool.name for tool in result.tools if getattr(tool.annotations, "readOnlyHint", None) is True]
            ledger.listed(session.connector, names, harmless, first_page=first)


@functools.cache
def _carrier() -> Callable[..., dict[str, str]] | None:
    """Tells trace context; None where ``OTEL_PROPAGATORS`` keeps its module from loading, as start-up has said."""
    try:
        from otel_mcp._sdk.carrier import carrier
    except ValueError:
        return None
    return carrier


class _Carrying(wrapt.ObjectProxy):  # type: ignore[type-arg]
    """The caller's own request, but that its dump has trace context in `_meta`: all that the SDK asks a request for."""

    def __init__(self, request: Any, carrier: dict[str, str], before: dict[str, Any]) -> None:
        # All are asked for: Datadog makes a `type(request)(root)`, and sends what it has got where that fails.
        super().__init__(request)
        # The second: what the caller has put into `_meta` beside the SDK's own fields.
        self._self_carried = carrier, before

    def model_dump(self, *args: Any, **kwargs: Any) -> Any:
        """The request as a dict, which is the SDK's to change."""
        data = self.__wrapped__.model_dump(*args, **kwargs)
        if kwargs.get("by_alias"):
            try:
                self._self_put(data.setdefault("params", {}))
            except Exception as error:  # noqa: BLE001 - the request goes out without trace context
                guard.caught("propagation", "the trace context of one request", error)
        return data

    # A wrapper below us may keep the request, or send a copy. `wrapt` leaves these to the subclass.

    def __copy__(self) -> _Carrying:
        return _Carrying(copy.copy(self.__wrapped__), *self._self_carried)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Carrying:
        return _Carrying(copy.deepcopy(self.__wrapped__, memo), *self._self_carried)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def _self_put(self, params: dict[str, Any]) -> None:
        carrier, before = self._self_carried
        meta = params.get(_META)
        if meta is None:
            params[_META] = carrier
            return
        for key, value in carrier.items():
            # Otherwise an instrumentor between us and the SDK has put its own there.
            if meta.get(key) == before.get(key):
                meta[key] = value


def untold(sdk_session: Any) -> list[Any]:
    """1.x leaves the waiters of a session that our side closes: their ids stay in the table."""
    return list(getattr(sdk_session, "_response_streams", ()))


def wrap_receive_loop(original: Any, switch: Switch) -> Any:
    """For `_receive_loop`: the peer's end; and, on 1.26, the loop's own death with requests left behind."""

    @functools.wraps(original)
    async def _receive_loop(self: Any) -> Any:
        died = False
        v1_answers.watch_where_no_method_sees_them(self, switch)
        try:
            return await original(self)
        except Exception:
            died = True
            raise
        finally:
            session = link.known(self) if switch.on else None
            if session is not None and not session.closed_by_us and not session.retired:
                with guarded("sessions", "the end of a connection"):
                    sessions.lost(session)
                    # A loop that a failed transport has cancelled leaves its waiters to their own limits.
                    for attempt in sessions.leave_behind(session, untold(self) if died else []):
                        scopes.orphaned(attempt)

    return _receive_loop


def wrap_incoming(original: Any, switch: Switch) -> Any:
    """For `_handle_incoming`: the host's message handler runs inside the receive loop."""
    return lifecycle.wrap_noise(lifecycle.wrap_held(original, switch, _method), switch)


def _method(message: Any) -> str | None:
    """The method of a server's notification; a responder is named by `_received_request`, an exception has none."""
    return getattr(getattr(message, "root", None), "method", None)


def _request_method(responder: Any) -> str | None:
    return _method(getattr(responder, "request", None))


def patches(switch: Switch) -> list[Patch]:
    """The rows that only 1.x has."""
    major = V1()

    def row(path: str, wrap: Any, *, optional: bool = False) -> Patch:
        return Patch("mcp", _SESSION, f"ClientSession.{path}", wrap, optional=optional)

    return [
        row("send_request", lambda original: requests.wrapper(original, major, switch)),
        row("call_tool", lambda original: calls.wrapper(original, n.TOOLS_CALL, switch)),
        row("read_resource", lambda original: calls.wrapper(original, n.RESOURCES_READ, switch)),
        row("get_prompt", lambda original: calls.wrapper(original, n.PROMPTS_GET, switch)),
        row("__aenter__", lambda original: lifecycle.wrap_enter(original, switch)),
        row("__aexit__", lambda original: lifecycle.wrap_exit(original, switch, untold)),
        row("_receive_loop", lambda original: wrap_receive_loop(original, switch)),
        row("_handle_response", lambda original: v1_answers.wrap_handle_response(original, switch), optional=True),
        row("_handle_incoming", lambda original: wrap_incoming(original, switch)),
        row("_received_request", lambda original: lifecycle.wrap_held(original, switch, _request_method)),
        row("_received_notification", lambda original: lifecycle.wrap_held(original, switch, _method)),
        Patch("mcp", "httpx", "AsyncHTTPTransport.handle_async_request", lambda o: http.wrap_transport(o, switch)),
    ]
