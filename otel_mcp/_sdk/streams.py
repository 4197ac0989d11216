"""Transports: what they connect to, and when a message has left.

`stdio_client` and its like are generator functions inside a helper made by `asynccontextmanager`. The helper's closure
cell is replaced, which reaches everybody who imported the helper before us.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from otel_mcp._ground import targets
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._ledger.model import Transport, now
from otel_mcp._observe import attempts, scopes, sessions
from otel_mcp._sdk import link

OPENING: Final[ContextVar[Transport | None]] = ContextVar("otel_mcp_opening", default=None)
"""The transport whose generator is running up to its first yield in this context."""

Describe = Callable[[tuple[Any, ...], dict[str, Any]], Transport]

_ID_FIRST: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":')
"""How 2.x writes a request. Our answers to the server's requests have ids as well, of its numbering and not ours."""
_ID_LAST: Final = re.compile(rb'"id":(\d+)\}\s*$')
"""How 1.x writes one."""


def describe_stdio(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Transport:
    """A transport from `stdio_client(server, …)`."""
    server = args[0] if args else kwargs.get("server")
    command = str(getattr(server, "command", ""))
    words = [str(word) for word in getattr(server, "args", None) or []]
    target = " ".join([command, *words])
    return Transport("stdio", target, targets.from_command(command, words), observes_writes=True)


def describe_url(kind: str, *, observes_writes: bool) -> Describe:
    """A transport from `…_client(url, …)`."""

    def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Transport:
        url = str(args[0] if args else kwargs.get("url", ""))
        host, port = targets.address(url)
        return Transport(kind, targets.safe_url(url), targets.from_url(url), host, port, observes_writes)

    return describe


def wrap_generator(original: Any, describe: Describe, switch: Switch) -> Any:
    """For the generator function inside a transport's helper."""

    @functools.wraps(original)
    def generator(*args: Any, **kwargs: Any) -> Any:
        inner = original(*args, **kwargs)
        if not switch.on:
            return inner
        with guarded("transports", "what a transport connects to"):
            return _Watched(inner, describe(args, kwargs))
        return inner

    return generator


class _Watched:
    """Passes everything on to the transport's own generator; looks at what it yields first."""

    def __init__(self, inner: Any, transport: Transport) -> None:
        self._inner = inner
        self._transport = transport
        self._stream: Any = None

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        if self._stream is not None:
            self._leave()
            return await self._inner.__anext__()
        outer = OPENING.get()
        if outer is not None:
            return await self._inner.__anext__()  # a helper that wraps another one: the inner one says more
        self._transport.opened = now()
        self._transport.asked = scopes.CONNECTING.get()
        token = OPENING.set(self._transport)
        try:
            streams = await self._inner.__anext__()
        except StopAsyncIteration:
            raise
        except BaseException as error:
            with guarded("transports", "a failed connect"):
                sessions.never_opened(self._transport, error)
            raise
        finally:
            OPENING.reset(token)
        with guarded("transports", "which transport a session is on"):
            link.remember(streams[1], self._transport)
            self._stream = streams[1]
        return streams

    def asend(self, value: Any) -> Any:
        return self._inner.asend(value)

    def athrow(self, *details: Any) -> Any:
        self._leave()
        return self._inner.athrow(*details)

    def aclose(self) -> Any:
        self._leave()
        return self._inner.aclose()

    def _leave(self) -> None:
        if self._stream is not None:
            link.forget(self._stream)


def wrap_process(original: Any, switch: Switch) -> Any:
    """For `mcp.client.stdio._create_platform_compatible_process`: when bytes left, and the exit code later."""

    @functools.wraps(original)
    async def create(*args: Any, **kwargs: Any) -> Any:
        process = await original(*args, **kwargs)
        transport = OPENING.get()
        if switch.on and transport is not None:
            with guarded("transports", "the write phase of a stdio server"):
                _watch_process(process, transport)
        return process

    return create


def _watch_process(process: Any, transport: Transport) -> None:
    transport.process = process
    if "_stdin" in vars(process) if hasattr(process, "__dict__") else hasattr(process, "_stdin"):
        process._stdin = _stdin_watcher(process._stdin, transport)
    else:
        transport.observes_writes = False


def _stdin_watcher(stream: Any, transport: Transport) -> Any:
    """A byte stream that passes everything on and notes when a request's bytes have left."""
    from anyio.abc import ByteSendStream

    class Stdin(ByteSendStream):
        async def send(self, item: bytes) -> None:
            await stream.send(item)
            with guarded("transports", "when a request left"):
                _left(transport, item)

        async def aclose(self) -> None:
            await stream.aclose()

        @property
        def extra_attributes(self) -> Any:
            return stream.extra_attributes

        def __getattr__(self, name: str) -> Any:
            return getattr(stream, name)

    return Stdin()


def _left(transport: Transport, item: bytes) -> None:
    session = transport.session
    if session is None:
        return
    found = _ID_FIRST.match(item) or _ID_LAST.search(item, max(len(item) - 64, 0))
    if found is not None:
        attempt = session.attempts.get(int(found.group(1)))
        if attempt is not None:
            attempts.sent(attempt, now())
