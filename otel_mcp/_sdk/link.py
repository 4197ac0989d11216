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

transports: weakref.WeakKeyDictionary[Any, Transport] = weakref.WeakKeyDictionary()
"""Open transports by their write stream; held weakly, since a loop may be closed over transports that nobody left."""


def remember(write_stream: Any, transport: Transport) -> None:
    """A transport handed out its streams."""
    transports[_key(write_stream)] = transport


def forget(write_stream: Any) -> None:
    """The transport ended."""
    transports.pop(_key(write_stream), None)


def _key(write_stream: Any) -> Any:
    """The stream, or the one inside: what 2.x puts around it takes no weak reference."""
    return getattr(write_stream, "_inner", write_stream)


def transport_of(sdk_session: Any) -> Transport:
    """The transport below an SDK session; one of kind ``memory`` where nobody opened one that we saw."""
    stream = getattr(sdk_session, "_write_stream", None)
    if stream is None:
        stream = getattr(getattr(sdk_session, "_dispatcher", None), "_write_stream", None)
    stream = getattr(stream, "__wrapped__", stream)  # a layer above may have put a tap on it
    try:
        return transports.get(_key(stream)) or Transport("memory")
    except TypeError:  # a stream of the program's own that takes no weak reference
        return Transport("memory")


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
