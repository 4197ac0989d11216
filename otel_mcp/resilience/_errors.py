"""What this layer raises or puts into `CallResult.error`, one tree.

::

    ResilienceError
    ├── DeadlineInverted        a limit is not shorter than the one around it: said before anything is sent
    ├── BreakerOpen             the breaker refused: nothing was sent
    ├── NotConnected            the connector is parked or closed: nothing was sent
    ├── ReconnectedDuringCall   our side, or the peer, ended the session while the request was open
    └── CallEndedAbruptly       the awaited code was cancelled by somebody who is not the caller

    CooldownOutlastsRun (a warning)   a breaker that opens stays open for the rest of the run
"""

from __future__ import annotations

from collections.abc import Mapping


class ResilienceError(Exception):
    """Root of the tree."""


class DeadlineInverted(ResilienceError, ValueError):
    """A deadline that is not shorter than the limit around it could never fire first.

    A configuration error, so it is raised at once, even where results are returned otherwise. Both values are
    seconds from now; `what` names the outer one.
    """

    def __init__(self, deadline: float, outer: float, what: str = "the enclosing limit") -> None:
        self.deadline = deadline
        self.outer = outer
        self.what = what
        super().__init__(
            f"the deadline of {deadline:g} s is not shorter than {what} of {outer:g} s, so it would never be the one "
            f"that fires; make the deadline shorter or the outer limit longer"
        )


class BreakerOpen(ResilienceError):
    """The breaker refused the call without touching the session.

    `cause` is the strike that opened it, `strikes` the mix of all that counted, `seconds_left` the time until the next
    call may be let through (of a probe that is out: until that probe's own limit).
    """

    def __init__(self, breaker: str, *, cause: str, strikes: Mapping[str, int], seconds_left: float) -> None:
        self.breaker = breaker
        self.cause = cause
        self.strikes = dict(strikes)
        self.seconds_left = seconds_left
        mix = ", ".join(f"{name} {count}" for name, count in sorted(self.strikes.items())) or "none"
        super().__init__(
            f"breaker {breaker!r} is open after {cause} (strikes: {mix}); the next call is let through in "
            f"{seconds_left:.1f} s"
        )


class NotConnected(ResilienceError):
    """The connector is parked or closed, so nothing was sent. `state` says which."""

    def __init__(self, connector: str, state: str, last_error: str | None = None) -> None:
        self.connector = connector
        self.state = state
        self.last_error = last_error
        why = f" after {last_error}" if last_error else ""
        super().__init__(f"connector {connector!r} is {state}{why}; nothing was sent")


class ReconnectedDuringCall(ResilienceError):
    """The session ended while the request was open.

    `sent` is False when the transport had certainly not taken the message, True when it had, None when the write was
    interrupted. Retrying is safe for what was not sent, and for what may run twice; `retryable` is therefore a
    property of the error, `sent` the fact the caller decides by.
    """

    retryable = True

    def __init__(self, connector: str, reason: str, *, sent: bool | None, cause: str = "reconnect") -> None:
        self.connector = connector
        self.reason = reason
        self.sent = sent
        self.cause = cause
        how = {True: "was sent and not answered", False: "was not sent", None: "may have been sent"}[sent]
        super().__init__(
            f"the session of connector {connector!r} ended ({reason}) during the call; the request {how}: retry it if "
            f"{'it may run twice' if sent is not False else 'it is still wanted'}"
        )


class CallEndedAbruptly(ResilienceError):
    """The awaited code was cancelled from inside or by a third party: neither the caller nor the deadline did it."""


class CooldownOutlastsRun(UserWarning):
    """A breaker's cool-down is not shorter than the budget of the run: once open, it stays open to the end."""
