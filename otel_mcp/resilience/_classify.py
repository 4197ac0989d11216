"""From what a callee returned or raised to an outcome. Pure functions; the rules are the contract's.

`otel_mcp._ground.verdicts` decides the same from what the SDK's hooks have seen. Here there is only what reached the
caller, from any callee, and beside the outcome the breaker wants to know whether it speaks about reachability.

The MCP SDK is not imported: both majors are told by the shape of their exceptions, so that this works for callees
that have nothing to do with MCP, too.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import dataclass
from typing import Any, Final

import anyio

from otel_mcp._ground import verdicts
from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience._errors import BreakerOpen, CallEndedAbruptly, NotConnected, ReconnectedDuringCall

TIMEOUTS: Final = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)
"""Three classes up to Python 3.10, one from 3.11 on."""

_CLOSED: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, ConnectionError, EOFError)


@dataclass(frozen=True)
class Verdict:
    """An outcome with what stands beside it; `strike` is the breaker's word for it, None if it speaks of health."""

    outcome: Outcome
    error_type: str | None = None
    cause: str | None = None
    detail: str = ""
    strike: str | None = None


def of_value(value: Any) -> Verdict:
    """A result came back: `ok`, or `tool_error` where it says ``isError`` (1.x) or ``is_error`` (2.x)."""
    if getattr(value, "isError", None) is True or getattr(value, "is_error", None) is True:
        return Verdict(Outcome.TOOL_ERROR, "tool_error", None, _server_text(value), "tool_error")
    return Verdict(Outcome.OK)


def of_error(error: BaseException, *, older: BaseException | None = None) -> Verdict:
    """An exception came back. `older` is the exception that was being handled when the call began, if any."""
    error = unwrapped(error)
    if isinstance(error, ReconnectedDuringCall):
        strike = "auth" if error.cause in ("http_401", "http_403") else "transport"
        return _verdict(Outcome.DISCONNECTED, error, verdicts.CONNECTION_CLOSED, error.cause, strike)
    if isinstance(error, BreakerOpen):
        return _verdict(Outcome.REJECTED, error, verdicts.BREAKER_OPEN, "breaker_open", None)
    if isinstance(error, NotConnected):
        return _verdict(Outcome.REJECTED, error, verdicts.NOT_CONNECTED, None, "not_connected")
    if isinstance(error, CallEndedAbruptly):
        return _verdict(Outcome.CANCELLED, error, "cancelled", None, None)
    if _is_local_timeout(error, older):
        return _verdict(Outcome.DEADLINE, error, verdicts.TIMEOUT, None, "deadline")
    code = rpc_code(error)
    if code is not None:
        return _of_rpc_error(error, code)
    status = http_status(error)
    if status is not None:
        return _verdict(Outcome.DISCONNECTED, error, str(status), verdicts.http_cause(status), _status_strike(status))
    if isinstance(error, _CLOSED) or _is_http_transport_error(error) or isinstance(error, OSError):
        cause = "reset" if isinstance(error, ConnectionResetError | BrokenPipeError) else None
        return _verdict(Outcome.DISCONNECTED, error, verdicts.CONNECTION_CLOSED, cause, "transport")
    return _verdict(Outcome.ERROR, error, verdicts.qualified_name(error), None, "error")


def unwrapped(error: BaseException) -> BaseException:
    """The one exception inside groups of one; a group of several stays what it is."""
    while isinstance(inner := getattr(error, "exceptions", None), tuple) and len(inner) == 1:
        error = inner[0]
    return error


def rpc_code(error: BaseException) -> int | None:
    """The JSON-RPC code of an SDK error (``.error.code`` in both majors), None for anything else."""
    code = getattr(getattr(error, "error", None), "code", None)
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def http_status(error: BaseException) -> int | None:
    """The status of an httpx-like error (``.response.status_code``), None for anything else."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def describe(error: BaseException) -> str:
    """``Type: message``; the commonest exceptions of transports have no text, so the type always stands there."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _of_rpc_error(error: BaseException, code: int) -> Verdict:
    text = str(error)
    if code == -32000 and text == "Connection closed":
        return _verdict(Outcome.DISCONNECTED, error, verdicts.CONNECTION_CLOSED, "stream_ended", "transport")
    # 1.x has the sign wrong: +32600.
    if code in (-32600, 32600) and text == "Session terminated":
        return _verdict(Outcome.DISCONNECTED, error, verdicts.SESSION_EXPIRED, "http_404", "transport")
    # All that 2.x says of an HTTP status that is not 404; which one it was is lost there.
    if code == -32603 and text == "Server returned an error response":
        return _verdict(Outcome.DISCONNECTED, error, verdicts.CONNECTION_CLOSED, None, "transport")
    if code == 429:
        return _verdict(Outcome.ERROR, error, str(code), "http_429", "rate_limit")
    return _verdict(Outcome.ERROR, error, str(code), None, "error")


def _is_local_timeout(error: BaseException, older: BaseException | None) -> bool:
    # A socket that the kernel gave up on is a TimeoutError as well, but with an errno: that is the transport.
    if isinstance(error, TIMEOUTS):
        return getattr(error, "errno", None) is None
    context = error.__context__
    return rpc_code(error) is not None and isinstance(context, TIMEOUTS) and not _among(context, older)


def _among(context: BaseException, older: BaseException | None) -> bool:
    """Whether `context` was already being handled when the call began: then it is no word about this call."""
    seen = 0
    while older is not None and seen < 100:  # chains can be circular when made by hand
        if older is context:
            return True
        older, seen = older.__context__, seen + 1
    return False


def _is_http_transport_error(error: BaseException) -> bool:
    # httpx in 1.x, httpx2 in 2.x: by name, because neither is a dependency of this module.
    return any(
        kind.__name__ == "TransportError" and kind.__module__.split(".")[0] in ("httpx", "httpx2", "httpcore")
        for kind in type(error).__mro__
    )


def _status_strike(status: int) -> str:
    if status in (401, 403):
        return "auth"
    return "rate_limit" if status == 429 else "transport"


def _verdict(outcome: Outcome, error: BaseException, error_type: str, cause: str | None, strike: str | None) -> Verdict:
    return Verdict(outcome, error_type, cause, describe(error), strike)


def _server_text(result: Any) -> str:
    """The text a server put into its error result: its own words survive."""
    parts = [getattr(item, "text", None) for item in getattr(result, "content", None) or ()]
    return "\n".join(part for part in parts if isinstance(part, str))
