"""Calls as a layer above the SDK sees them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.verdicts import Verdict
from otel_mcp._ledger import model
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import calls, scopes
from otel_mcp._reports.strikes import strike_cause

_DEFAULT_ERRORS = {
    Outcome.TOOL_ERROR: v.TOOL_ERROR,
    Outcome.DEADLINE: v.TIMEOUT,
    Outcome.DISCONNECTED: v.CONNECTION_CLOSED,
    Outcome.ORPHANED: v.ORPHANED,
    Outcome.REJECTED: v.NOT_CONNECTED,
}


class Call(AbstractContextManager["Call"]):
    """One call of a host, as a context manager around everything it does for it.

    Not re-entrant. Leaving the block ends the call: by what `end` or `reject` said, else by the exception that leaves,
    else by the last attempt.
    """

    def __init__(
        self,
        connector: str,
        *,
        tool: str | None = None,
        method: str = n.TOOLS_CALL,
        limit: float | None = None,
        limit_source: str = "host",
        idempotent: bool | None = None,
    ) -> None:
        self._entry: model.Call | None = None
        self._token: Any = None
        self._said: Verdict | None = None
        with guarded("hooks", "one call"):
            scopes.first_use()
            entry = calls.begin(ledger.connector(connector), connector, method, tool, None, layered=True)
            entry.idempotent = bool(idempotent)
            self._entry = entry
        if limit is not None:
            self.limit(limit, limit_source)

    @property
    def id(self) -> int:
        """The call's number in this process, as it stands in the call log; 0 if the call is not watched."""
        return self._entry.id if self._entry is not None else 0

    @property
    def last_outcome(self) -> Outcome | None:
        """Outcome of the last attempt that has ended; None if none has."""
        last = self._entry.last if self._entry is not None else None
        return last.outcome if last is not None else None

    @property
    def last_error_type(self) -> str | None:
        """`error.type` of the last attempt that has ended."""
        last = self._entry.last if self._entry is not None else None
        return last.error_type if last is not None else None

    @property
    def attempts(self) -> int:
        """Attempts made so far."""
        return self._entry.attempts if self._entry is not None else 0

    @property
    def waits_for_lock(self) -> bool:
        """Whether it stands before a lock now, or gave up there."""
        return self._entry is not None and self._entry.phase == model.LOCK

    def strike_cause(self) -> str:
        """Which cause of a breaker's strike the call stands for, by what is known of it now."""
        entry = self._entry
        if entry is None:
            return n.UNKNOWN
        verdict = v.LEFT_BEHIND if entry.orphaned else self._said or entry.last
        return strike_cause(verdict, in_queue=entry.phase == model.LOCK, root_cause=entry.root_cause)

    def limit(self, seconds: float | None, source: str = "host") -> None:
        """Tell a limit that applies to the call: seconds from now, or None for "known to be none".

        A host whose limit is for each attempt tells it again before each. A request that is cancelled when the time
        is up is then known to have been cut off by it.
        """
        entry = self._entry
        if entry is not None and source in n.LIMIT_SOURCES:
            with guarded("hooks", "a limit"):
                entry.limits[source] = seconds
                entry.armed, entry.armed_by = model.now(), source
                calls.limits_known(entry)

    def renamed(self, tool: str) -> None:
        """The host asks for another tool than it was asked for."""
        if self._entry is not None:
            self._entry.target = tool

    def breaker(self, state: str) -> None:
        """Tell the breaker's state at the start of the call."""
        if self._entry is not None and state in n.BREAKER_STATES:
            self._entry.breaker = state

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Time spent inside counts as this phase: ``backoff``, ``connect`` or ``lock``."""
        return _Phase(self._entry, name)

    def attempt(self) -> Attempt:
        """An attempt that is not a request of the SDK; those are seen without this."""
        return Attempt(self._entry)

    def end(
        self,
        outcome: Outcome | str,
        *,
        error_type: str | None = None,
        cause: str | None = None,
        limit: float | None = None,
        limit_source: str | None = None,
    ) -> None:
        """Say how the call ended; it is recorded when the block is left."""
        with guarded("hooks", "a call's outcome"):
            value = Outcome(outcome)
            default = _DEFAULT_ERRORS.get(value, "error" if value is Outcome.ERROR else None)
            source = limit_source or ("host" if value is Outcome.DEADLINE else None)
            if value is Outcome.DEADLINE and limit is None and self._entry is not None:
                limit = self._entry.limits.get(source or "")
            self._said = Verdict(value, error_type or default, cause=cause, limit=limit, limit_source=source)

    def reject(self, error_type: str = v.BREAKER_OPEN) -> None:
        """Nothing was sent: ``breaker_open`` or ``not_connected``."""
        cause = v.BREAKER_OPEN if error_type == v.BREAKER_OPEN else None
        self._said = Verdict(Outcome.REJECTED, error_type, cause=cause)

    def __enter__(self) -> Call:
        if self._entry is not None:
            self._token = calls.CURRENT.set(self._entry)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with guarded("hooks", "the record of one call"):
            scopes.leave(calls.CURRENT, self._token)
            self._token = None
            if self._entry is not None:
                calls.end(self._entry, self._verdict(self._entry, error))

    def _verdict(self, entry: model.Call, error: BaseException | None) -> Verdict:
        if self._said is not None:
            return self._said
        if error is None:
            return entry.last or v.OK
        last = entry.last
        if isinstance(error, TimeoutError) or (sys.version_info < (3, 11) and isinstance(error, asyncio.TimeoutError)):
            seconds, source = entry.limit
            source = last.limit_source if last is not None and last.limit_source else source or "host"
            limit = entry.limits.get(source, seconds)
            cause = "lock_wait" if self.waits_for_lock else None
            return Verdict(Outcome.DEADLINE, v.TIMEOUT, cause=cause, limit=limit, limit_source=source)
        if last is not None and last.outcome is not Outcome.OK:
            return last
        return v.of_exception(error, v.Facts(cancelled=not isinstance(error, Exception)))


class _Phase(AbstractContextManager[None]):
    def __init__(self, entry: model.Call | None, name: str) -> None:
        self._entry = entry if name in n.PHASES else None
        self._name = name
        self._before = model.WRITE

    def __enter__(self) -> None:
        if self._entry is not None:
            self._before = self._entry.phase
            self._entry.enter(self._name, model.now())

    def __exit__(self, *details: object) -> None:
        if self._entry is not None and not self._entry.ended:
            self._entry.enter(self._before, model.now())


class Attempt(AbstractContextManager["Attempt"]):
    """One attempt of a host that does not use the SDK: counted, and its end kept for the call's verdict."""

    def __init__(self, entry: model.Call | None) -> None:
        self._entry = entry
        self._said: Verdict | None = None

    def sent(self) -> None:
        """The message left."""
        if self._entry is not None:
            self._entry.sent = True
            self._entry.enter(model.WAIT, model.now())

    def end(self, outcome: Outcome | str, *, error_type: str | None = None, cause: str | None = None) -> None:
        """Say how the attempt ended."""
        with guarded("hooks", "an attempt's outcome"):
            value = Outcome(outcome)
            self._said = Verdict(value, error_type or _DEFAULT_ERRORS.get(value), cause=cause)

    def __enter__(self) -> Attempt:
        entry = self._entry
        if entry is not None:
            with guarded("hooks", "one attempt"):
                ledger.count_attempt(entry)
                entry.enter(model.WRITE, model.now())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entry = self._entry
        if entry is None:
            return
        with guarded("hooks", "one attempt"):
            verdict = self._said
            if verdict is None:
                cancelled = error is not None and not isinstance(error, Exception)
                verdict = v.OK if error is None else v.of_exception(error, v.Facts(cancelled=cancelled))
            entry.last = verdict
            entry.outcomes.append(verdict.outcome)
            entry.answered_last = verdict.outcome in {Outcome.OK, Outcome.TOOL_ERROR, Outcome.ERROR}


def call(
    connector: str,
    *,
    tool: str | None = None,
    method: str = n.TOOLS_CALL,
    limit: float | None = None,
    limit_source: str = "host",
    idempotent: bool | None = None,
) -> Call:
    """Report one call of a host.

    `limit` is the time limit in seconds, `limit_source` whose it is (``host``, ``guard``, ``caller``, ``sdk``,
    ``transport``); `idempotent` says that a retry is safe.
    """
    return Call(connector, tool=tool, method=method, limit=limit, limit_source=limit_source, idempotent=idempotent)
