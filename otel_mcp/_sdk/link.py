"""From an SDK session to its ledger entry, and what the two SDK majors have in common."""

from __future__ import annotations

import functools
import math
import weakref
from datetime import timedelta
from typing import Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ledger.model import Session, Transport
from otel_mcp._observe import sessions

_WITH_NAMES: Final = frozenset({n.TOOLS_CALL, n.PROMPTS_GET})
MAX_LIVE_TRANSPORTS: Final = 10_000

transports: dict[int, tuple[Any, Transport]] = {}
"""Open transports by the identity of their write stream; the stream is kept so that its id stays taken."""


def remember(write_stream: Any, transport: Transport) -> None:
    """A transport handed out its streams."""
    if len(transports) < MAX_LIVE_TRANSPORTS:
        transports[id(write_stream)] = (write_stream, transport)


def forget(write_stream: Any) -> None:
    """The transport ended."""
    transports.pop(id(write_stream), None)


def transport_of(sdk_session: Any) -> Transport:
    """The transport below an SDK session; one of kind ``memory`` where nobody opened one that we saw."""
    stream = getattr(sdk_session, "_write_stream", None)
    if stream is None:
        stream = getattr(getattr(sdk_session, "_dispatcher", None), "_write_stream", None)
    stream = getattr(stream, "__wrapped__", stream)  # a layer above may have put a tap on it
    entry = transports.get(id(stream)) if stream is not None else None
    return entry[1] if entry is not None else Transport("memory")


def entry(sdk_session: Any) -> Session:
    """The ledger entry of an SDK session; registered now if it was entered before we came."""
    try:
        session: Session = sdk_session.__dict__[sessions.ATTRIBUTE]
    except (AttributeError, KeyError):
        return enter(sdk_session)
    return session


def known(sdk_session: Any) -> Session | None:
    """The ledger entry, if there is one."""
    return sessions.of(sdk_session)


def enter(sdk_session: Any) -> Session:
    """Register an SDK session that is being entered."""
    session = sessions.opened(transport_of(sdk_session))
    session.read_timeout = seconds(getattr(sdk_session, "_session_read_timeout_seconds", None))
    vars(sdk_session)[sessions.ATTRIBUTE] = session
    session.anchor = weakref.ref(sdk_session, functools.partial(_abandoned, session))
    return session


def _abandoned(session: Session, _: Any) -> None:
    """The SDK's session is gone and nobody left it."""
    with guarded("sessions", "the end of an abandoned session"):
        sessions.closed(session, [], None)


def seconds(value: Any) -> float | None:
    """A time limit of either SDK in seconds, 1.x has `timedelta`, 2.x floats; None for none, and for an endless one."""
    if value is None:
        return None
    found = value.total_seconds() if isinstance(value, timedelta) else float(value)
    return found if math.isfinite(found) else None


def request_id(sent_back: Any) -> Any:
    """The id as the SDK keeps it; a peer may send the number back as text."""
    return int(sent_back) if isinstance(sent_back, str) and sent_back.isdecimal() else sent_back


def target_of(method: str, params: Any) -> str | None:
    """Tool or prompt name of a request."""
    name = getattr(params, "name", None) if method in _WITH_NAMES else None
    return name if isinstance(name, str) else None
