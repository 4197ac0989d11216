"""On mcp 1.x: an answer arrived, in time or late, and from the peer.

Since 1.23 the session has a method that takes answers in. Before it the receive loop does so itself, and only the
stream that it reads sees them pass.
"""

from __future__ import annotations

import functools
from typing import Any

from otel_mcp._ground import guard
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._observe import attempts, sessions
from otel_mcp._sdk import link


def wrap_handle_response(original: Any, switch: Switch) -> Any:
    """For `_handle_response`."""

    @functools.wraps(original)
    def _handle_response(self: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
        if switch.on:
            try:
                _answered(self, message.message.root)
            except Exception as error:  # noqa: BLE001 - the answer is handed on whatever happens here
                guard.caught("requests", "a late answer", error)
        return original(self, message, *args, **kwargs)  # to be awaited

    return _handle_response


def watch_where_no_method_sees_them(sdk_session: Any, switch: Switch) -> None:
    """Before 1.23: put a stream that looks at each answer in the place of the one that the receive loop reads."""
    if switch.on and not hasattr(sdk_session, "_handle_response"):
        with guarded("requests", "the answers of a session"):
            sdk_session._read_stream = _Watched(sdk_session._read_stream, sdk_session, switch)


class _Watched:
    """The read stream, as the receive loop uses it; everything else is the stream's own."""

    def __init__(self, stream: Any, sdk_session: Any, switch: Switch) -> None:
        self._stream = stream
        self._sdk_session = sdk_session
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> Any:
        return await self._stream.__aexit__(*exception)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        if self._switch.on:
            with guarded("requests", "a late answer"):
                root = getattr(getattr(item, "message", None), "root", None)  # an exception of the transport has none
                if root is not None and not hasattr(root, "method"):
                    _answered(self._sdk_session, root)
        return item


def _answered(sdk_session: Any, root: Any) -> None:
    session = sessions.of(sdk_session)
    if session is not None:
        attempts.answered(session, link.request_id(root.id))
