"""How a call or an attempt ended.

`Outcome` has eight values; `Outcome.bucket` folds them into the three of the source article: answered, answered
with an explicit error, cut off by us. The decision which of the eight applies is taken by the pure functions in
`otel_mcp._ground.verdicts`.
"""

from __future__ import annotations

import enum
from typing import Final


class Outcome(str, enum.Enum):
    """The end of a call or of an attempt, as it stands in `otel_mcp.outcome`."""

    OK = "ok"
    """A result came back."""
    TOOL_ERROR = "tool_error"
    """A result with ``isError`` came back: the server is reachable and said what was wrong."""
    ERROR = "error"
    """The peer sent a JSON-RPC error, or its answer failed validation."""
    DEADLINE = "deadline"
    """A time limit on our side cut it off: nothing is known about the other side."""
    CANCELLED = "cancelled"
    """The caller gave up, not for time."""
    DISCONNECTED = "disconnected"
    """The transport or the peer ended while it was open, or our side ended it and told the caller."""
    ORPHANED = "orphaned"
    """Our side tore the session down with it open, and nobody told the caller."""
    REJECTED = "rejected"
    """Of calls only: nothing was sent."""

    __str__ = str.__str__
    __hash__ = str.__hash__  # the enum's own is written in Python, and outcomes are looked up at every call

    @property
    def bucket(self) -> str:
        """``ok``, ``error`` or ``deadline``: the three-way result."""
        return _BUCKETS.get(self, "error")


_BUCKETS: Final = {Outcome.OK: "ok", Outcome.DEADLINE: "deadline"}

OUTCOMES: Final = tuple(Outcome)
