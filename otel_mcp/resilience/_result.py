"""What a call came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from otel_mcp._ground.outcomes import Outcome


@dataclass(frozen=True)
class CallResult:
    """The end of one call: answered, answered with an explicit error, or cut off. Times in seconds."""

    outcome: Outcome
    value: Any = None
    """What the call returned, also where `outcome` is `tool_error`; None without an answer."""
    detail: str = ""
    """``Type: message`` of the exception, or the server's own text of a tool error; empty if all went well."""
    error: BaseException | None = None
    elapsed: float = 0.0
    """From asking to having the answer: lock wait, back-off and every attempt included."""
    attempts: int = 1
    """Attempts made: requests handed to the callee or to a session. 0 if it came to none, rejected or in our queue."""
    breaker: str | None = None
    """State of the breaker at the start of the call: ``closed``, ``half_open`` or ``open``; None without one."""
    lock_wait: float = 0.0
    sent: bool | None = None
    """Whether the transport took the message of the last attempt; None if that is not known."""
    cause: str | None = None
    """Root cause beneath the outcome, as in `otel_mcp.cause`: ``reconnect``, ``http_401``, ``stream_ended``, …"""
    error_type: str | None = None
    """As in `error.type`; None if all went well."""
    phase: str | None = None
    """Where a connector's call was when it ended without an answer: ``connect``, ``backoff``, ``lock``, ``write`` or
    ``wait``."""
    left_behind: bool = False
    """The callee did not acknowledge its cancellation and may still be running on our side."""

    @property
    def bucket(self) -> str:
        """``ok``, ``error`` or ``deadline``."""
        return self.outcome.bucket

    @property
    def ok(self) -> bool:
        """Whether a result without an error came back."""
        return self.outcome is Outcome.OK
