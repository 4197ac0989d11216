"""The ledger: who is connected, what is open, what was counted.

Guarded by one lock held for a few assignments at a time. It is re-entrant, because a finalizer that ends an abandoned
call may run in the middle of another assignment of the same thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from otel_mcp._ground import names as n
from otel_mcp._ground import targets
from otel_mcp._ground.labels import MAX_CONNECTORS, MAX_NAME, Labels, Sets
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ledger.connector import Breaker, Connector
from otel_mcp._ledger.model import CLOSED, LOST, READY, Attempt, Call, Session, Transport, now

_MAX_LISTED: Final = 5000
"""Listed tool names kept a connector; a server that lists more gets labels by answering instead."""
_MAX_TARGETS: Final = 2000


class Ledger:
    """Everything that is known about this process's MCP connections."""

    def __init__(self, labels: Labels | None = None) -> None:
        self.lock = threading.RLock()
        self.labels = labels or Labels()
        self.name_rules: tuple[tuple[str, str], ...] = ()
        self.connectors: dict[str, Connector] = {}
        self.calls: dict[int, Call] = {}
        """Open calls, oldest first."""
        self.cutoffs: Sets[list[int]] = Sets(self.labels)
        self._targets: dict[str, str] = {}
        self.lock_waits: set[Any] = set()
        """Waits for a lock by what is no call; those of calls are told by the call."""
        self.opened: Callable[[], None] = _nothing
        """Told when something is opened, so that the watcher can wake."""

    # --- connectors ---------------------------------------------------------------------------------------------

    def connector(self, name: str) -> Connector:
        """The connector of that name; ``_other`` once the budget of names is spent."""
        name = targets.clean(name) or n.UNKNOWN
        found = self.connectors.get(name)
        if found is None:
            with self.lock:
                found = self.connectors.get(name)
                if found is None:
                    if len(self.connectors) >= MAX_CONNECTORS and name != n.OTHER:
                        self.labels.fold(n.CONNECTOR)
                        return self.connector(n.OTHER)
                    found = self.connectors[name] = Connector(name)
        return found

    def name_target(self, subject: str | None, given: str | None, derived: str | None, server: str | None) -> str:
        """The connector's name by the contract's order; `subject` is what the rules' globs are matched on."""
        ruled = self.ruled(subject)
        if ruled is not None:
            return targets.clean(ruled) or n.UNKNOWN
        if given:
            return targets.clean(given) or n.UNKNOWN
        name = derived or (targets.clean(server) if server else None)
        if not name:
            return n.UNKNOWN
        return self._apart(name, subject) if derived and subject else name

    def ruled(self, subject: str | None) -> str | None:
        """The name that `OTEL_MCP_CONNECTORS` gives a target, if it does."""
        return targets.configured(self.name_rules, subject) if subject is not None and self.name_rules else None

    def _apart(self, name: str, subject: str) -> str:
        """Two targets left with one name: the second gets four hex digits of its hash."""
        with self.lock:
            owner = self._targets.get(name)
            if owner is None:
                if len(self._targets) < _MAX_TARGETS:
                    self._targets[name] = subject
                return name
            return name if owner == subject else targets.with_hash(name, subject)

    # --- sessions -----------------------------------------------------------------------------------------------

    def open_session(self, name: str, transport: Transport, *, provisional: bool, reason: str | None) -> Session:
        """Register a session of a connector; its generation and connect reason are decided here."""
        with self.lock:
            connector = self.connector(name)
            session = Session(connector, transport, 0, name=name, provisional=provisional)
            self._enrol(session, connector, reason)
        self.opened()
        return session

    def _enrol(self, session: Session, connector: Connector, reason: str | None) -> None:
        session.reason = reason or self._reason(connector)
        connector.generation += 1
        session.generation = connector.generation
        session.connector = connector
        connector.sessions[id(session)] = session
        connector.said_state = None
        connector.registered = connector.registered or not session.provisional

    def _reason(self, connector: Connector) -> str:
        """Why this connector connects again, where nobody says it."""
        live = [session for session in connector.sessions.values() if not session.retired]
        if any(session.state != LOST for session in live):
            return "additional"
        if not connector.ever_ready:
            return "initial"
        if live:
            return "session_expired" if any(session.expired for session in live) else "transport"
        return connector.last_end or "additional"

    def ready(self, session: Session) -> None:
        """The handshake is done."""
        with self.lock:
            connector = session.connector
            session.state = READY
            connector.ever_ready = True
            connector.last_connect_failed = False
            connector.last_end = None

    def connect_failed(self, connector: Connector) -> None:
        """A connect ended without a session; until the next one starts nobody is trying."""
        with self.lock:
            connector.registered = True
            connector.last_connect_failed = True

    def rename(self, session: Session, name: str) -> None:
        """Give a provisional session its name; it never changes after that."""
        with self.lock:
            session.provisional = False
            if name == session.name:
                return
            old = session.connector
            old.sessions.pop(id(session), None)
            old.generation -= 1
            session.name = name
            self._enrol(session, self.connector(name), None)
            for attempt in session.attempts.values():
                if attempt.call is not None and attempt.call.connector is old:
                    self.move(attempt.call, session)

    def move(self, call: Call, session: Session) -> None:
        """Give a call to the connector of a session: `OTEL_MCP_CONNECTORS` comes before the name a host told."""
        with self.lock:
            call.connector.open_calls.pop(call.id, None)
            session.connector.open_calls[call.id] = call
            call.connector = session.connector
            call.name = session.name

    def close_session(self, session: Session, *, by_us: bool, reason: str | None) -> None:
        """Retire a session. `reason` is the connect reason that a later connect of this connector gets."""
        with self.lock:
            session.state = CLOSED
            session.retired = True
            session.closed_by_us = by_us
            connector = session.connector
            if not session.attempts:
                connector.sessions.pop(id(session), None)
            connector.last_end = reason

    # --- calls and attempts -------------------------------------------------------------------------------------

    def open_call(self, call: Call) -> None:
        """Register a call."""
        connector = call.connector
        connector.registered = True
        self.calls[call.id] = connector.open_calls[call.id] = call
        self.opened()

    def close_call(self, call: Call, outcome: Outcome) -> None:
        """Count a call that has its answer. To be called under the lock."""
        connector = call.connector
        self.calls.pop(call.id, None)
        connector.open_calls.pop(call.id, None)
        connector.calls[outcome] += 1

    def open_attempt(self, attempt: Attempt) -> None:
        """Register a request."""
        session = attempt.session
        session.attempts[attempt.key] = attempt
        session.last_message = attempt.started
        session.connector.methods.add(attempt.method)
        if attempt.call is None:
            self.opened()
        elif not attempt.continues:
            self.count_attempt(attempt.call)

    def count_attempt(self, call: Call) -> None:
        """Count an attempt of a call; from the second on it is a retry, safe or not."""
        connector = call.connector
        with self.lock:
            connector.attempts += 1
            call.attempts += 1
            if call.attempts > 1:
                harmless = call.idempotent or call.target in connector.read_only
                unsafe = call.sent and not call.answered_last and not harmless
                call.retry_unsafe = call.retry_unsafe or unsafe
                connector.retries[unsafe] += 1

    def close_attempt(self, attempt: Attempt) -> None:
        """Forget a request whose caller was released."""
        session = attempt.session
        if session.attempts.get(attempt.key) is attempt:
            del session.attempts[attempt.key]
        if session.retired and not session.attempts:
            with self.lock:
                session.connector.sessions.pop(id(session), None)

    def cut_off(self, connector: Connector, outcome: Outcome, phase: str, source: str, amount: int = 1) -> None:
        """Count a call that ended otherwise than by an answer; an amount of 0 makes the counter exist."""
        key = (connector.name, outcome.value, phase, source)
        with self.lock:
            self.cutoffs.get(key, (n.OTHER, outcome.value, n.NONE, n.NONE), _zero)[0] += amount

    def fault(self, connector: Connector, cause: str) -> None:
        """Count a root cause at the moment it happens."""
        with self.lock:
            connector.faults[cause] = connector.faults.get(cause, 0) + 1

    def breaker(self, connector: Connector) -> Breaker:
        """The connector's breaker, made on first use."""
        with self.lock:
            if connector.breaker is None:
                connector.breaker = Breaker()
            return connector.breaker

    def listed(self, connector: Connector, tools: list[str], read_only: list[str], *, first_page: bool) -> None:
        """Keep what a `tools/list` answer named, and which of it carries the `readOnlyHint`."""
        with self.lock:
            if first_page:
                connector.listed, connector.read_only = set(), set()
            room = _MAX_LISTED - len(connector.listed)
            connector.listed.update(name for name in tools[: max(room, 0)] if len(name) <= MAX_NAME)
            connector.read_only.update(connector.listed.intersection(read_only))
            connector.tools = len(tools) if first_page else (connector.tools or 0) + len(tools)

    # --- life of the process --------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget everything: a forked child starts empty, whatever its parent was doing."""
        self.lock = threading.RLock()
        self.labels = Labels(self.labels.tool_labels)
        self.connectors = {}
        self.calls = {}
        self.cutoffs = Sets(self.labels)
        self._targets = {}
        self.lock_waits = set()
        self.opened = _nothing

    def attempts(self) -> list[Attempt]:
        """Every request that is open, orphans whose caller still waits included."""
        return [
            attempt
            for connector in list(self.connectors.values())
            for session in list(connector.sessions.values())
            for attempt in list(session.attempts.values())
        ]


def _zero(_: object) -> list[int]:
    return [0]


def _nothing() -> None:
    return None


ledger = Ledger()

__all__ = ["Ledger", "ledger", "now"]
