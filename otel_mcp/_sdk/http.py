"""Streamable HTTP: when a request left, and the root causes that the SDK hides behind a time-out.

On mcp 1.x a 401, a 500 or a reset kills the transport's task group: a caller in the same task is cancelled, every
other one waits for its own limit. The status is kept here, counted at once, and stands as the call's cause whatever
follows.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any, Final

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._ledger.model import Attempt, Session, Transport, now
from otel_mcp._observe import attempts, sessions
from otel_mcp._sdk.streams import OPENING

_STAND_INS: Final = v.STATUS_STAND_INS
_UNEXPECTED: Final = "Unexpected content type"
"""How the SDK (2.x) begins the error it writes for an answer that is neither JSON nor an event stream."""
_BODY_LEAVES: Final = "send_request_body.started"
_BODY_LEFT: Final = "send_request_body.complete"
_EVENT_STREAM: Final = "text/event-stream"
_OURS: Final = "_otel_mcp_transport"


class Post:
    """One POST of a JSON-RPC message, as seen from the HTTP layer below it."""

    def __init__(self, transport: Transport, key: Any) -> None:
        self.transport = transport
        self.key = key
        self.status: int | None = None
        self.answered = False
        self.settled = False
        self.cut = False
        """The answer's body broke off: what the SDK then calls the end of a stream was a reset."""

    @property
    def session(self) -> Session | None:
        return self.transport.session

    @property
    def attempt(self) -> Attempt | None:
        session = self.session
        if session is None or self.key is None:
            return None
        found = session.attempts.get(self.key)
        return found if found is not None else session.given_up.get(self.key, (None,))[0]

    def left(self) -> None:
        """The body was written to the socket."""
        attempt = self.attempt
        if attempt is not None and not attempt.ended:
            attempts.sent(attempt, now())

    def responded(self, status: int) -> None:
        """Headers came back."""
        self.left()
        self.status = status if status >= 400 else None
        attempt = self.attempt
        if attempt is not None:
            attempt.http_status = self.status
        if self.session is not None:
            self.session.heard(now())

    def happened(self, cause: str, status: int | None) -> None:
        """A root cause: counted once for this POST, kept on the attempt."""
        if self.settled:
            return
        self.settled = True
        attempt, session = self.attempt, self.session
        if attempt is not None:
            attempt.cause = cause
        if session is not None:
            call = attempt.call if attempt is not None else None
            sessions.fault(session, cause, status, call.id if call is not None else None)

    def says(self, message: Any) -> None:
        """The transport hands a message to the session on behalf of this POST."""
        root = getattr(message, "root", message)
        if getattr(root, "id", None) is None or getattr(root, "method", None) is not None:
            return
        self.answered = True
        text = getattr(getattr(root, "error", None), "message", None)
        stand_in = isinstance(text, str) and self.status is not None and text in _STAND_INS
        if stand_in and self.status is not None:
            self.synthesized()
            self.happened(v.http_cause(self.status), self.status)
        elif self.status is not None:
            attempt = self.attempt  # the body held the peer's own JSON-RPC error
            if attempt is not None:
                attempt.http_status = None
        elif isinstance(text, str) and text.startswith(_UNEXPECTED):
            self.abandoned()

    def abandoned(self) -> None:
        """The answer ended without a response."""
        self.answered = True
        self.synthesized()
        self.happened(self.ending, None)

    @property
    def ending(self) -> str:
        """The root cause of an answer that ended without a response."""
        return "reset" if self.cut else "stream_ended"

    def synthesized(self) -> None:
        attempt = self.attempt
        if attempt is not None:
            attempt.synthesized = True

    def broke(self, error: BaseException) -> None:
        """An exception left the POST: it ends the transport's task group, and with it the session."""
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int) and status >= 400:
            cause = v.http_cause(status)
            self.transport.http_status = status
        else:
            status, cause = None, "reset"
        self.transport.failed = cause
        self.happened(cause, status)

    def returned(self) -> None:
        """The POST is over."""
        if self.status is not None:
            self.happened(v.http_cause(self.status), self.status)
        elif self.key is not None and not self.answered:
            attempt = self.attempt
            if attempt is not None and not attempt.answered:
                self.happened(self.ending, None)


POST: Final[ContextVar[Post | None]] = ContextVar("otel_mcp_post", default=None)


class _Answers:
    """The session's read stream as this POST sees it: passes on, and looks at what is handed over."""

    def __init__(self, stream: Any, post: Post) -> None:
        self._stream = stream
        self._post = post

    async def send(self, item: Any) -> Any:
        with guarded("http", "an answer's root cause"):
            self._post.says(getattr(item, "message", item))
        return await self._stream.send(item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def wrap_init(original: Any, switch: Switch) -> Any:
    """For `StreamableHTTPTransport.__init__`: which of our transports it belongs to."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        transport = OPENING.get()
        if switch.on and transport is not None:
            vars(self)[_OURS] = transport
            transport.sdk = self

    return __init__


def wrap_post(original: Any, switch: Switch) -> Any:
    """For `StreamableHTTPTransport._handle_post_request`."""

    @functools.wraps(original)
    async def _handle_post_request(self: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
        transport: Transport | None = vars(self).get(_OURS)
        if transport is None or not switch.on:
            return await original(self, context, *args, **kwargs)
        post = None
        with guarded("http", "the root causes of one request"):
            message = context.session_message.message
            root = getattr(message, "root", message)
            key = getattr(root, "id", None) if getattr(root, "method", None) is not None else None
            post = Post(transport, key)
            context.read_stream_writer = _Answers(context.read_stream_writer, post)
        if post is None:
            return await original(self, context, *args, **kwargs)
        token = POST.set(post)
        try:
            result = await original(self, context, *args, **kwargs)
        except Exception as error:
            with guarded("http", "the root cause of one request"):
                post.broke(error)
            raise
        else:
            with guarded("http", "the root cause of one request"):
                post.returned()
            return result
        finally:
            POST.reset(token)

    return _handle_post_request


def wrap_abandoned(original: Any, switch: Switch) -> Any:
    """For `StreamableHTTPTransport._resolve_abandoned_request` (2.x): the SDK answers in the peer's place."""

    @functools.wraps(original)
    async def _resolve_abandoned_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        post = POST.get()
        if post is not None and switch.on:
            with guarded("http", "the root cause of one request"):
                post.abandoned()
        return await original(self, *args, **kwargs)

    return _resolve_abandoned_request


def wrap_transport(original: Any, switch: Switch) -> Any:
    """For `AsyncHTTPTransport.handle_async_request` of httpx and httpx2: status and the moment the body left."""

    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        post = POST.get()
        if post is None or not switch.on or not _has_message(request):
            return await original(self, request)
        with guarded("http", "when a request left"):
            request.extensions = {**request.extensions, "trace": _trace(request.extensions.get("trace"), post)}
        response = await original(self, request)
        with guarded("http", "an HTTP status"):
            post.responded(response.status_code)
            response.stream = _watched_body(response.stream, post)
        return response

    return handle_async_request


def _has_message(request: Any) -> bool:
    """Whether the request is the POST itself: requests of an authorisation flow are not, and stay in phase `write`.

    The specification has a client accept an event stream for each message. The URL would not tell: the HTTP client
    writes it in its own way, adds parameters and follows redirects.
    """
    return request.method == "POST" and _EVENT_STREAM in request.headers.get("accept", "")


def _watched_body(stream: Any, post: Post) -> Any:
    """The answer's body, passed on: the SDK swallows the exception when it breaks off."""
    return _body_class("httpx2" if "httpx2" in type(stream).__module__ else "httpx")(stream, post)


@functools.cache
def _body_class(library: str) -> Any:
    """A body as httpx or httpx2 wants it: an `AsyncByteStream` of its own."""
    base: Any = sys.modules[library].AsyncByteStream

    class Body(base):  # type: ignore[misc] # whichever of the two is in use
        def __init__(self, stream: Any, post: Post) -> None:
            self._stream = stream
            self._post = post

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self._stream:
                    yield part
            except Exception:
                self._post.cut = True
                raise

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Body


def _trace(before: Any, post: Post) -> Any:
    """What httpcore tells, to the transport's own listener and to us. It tells us of a CONNECT to a proxy as well."""
    is_message = False

    async def trace(event: str, info: Any) -> None:
        nonlocal is_message
        with guarded("http", "when a request left"):
            if event.endswith(_BODY_LEAVES):
                is_message = getattr(info.get("request"), "method", b"POST") == b"POST"
            elif event.endswith(_BODY_LEFT) and is_message:
                post.left()
        if before is not None:
            await before(event, info)

    return trace
