"""A call of Hermes: a handler that runs in the agent's thread, and what it makes the MCP loop's thread do for it."""

from __future__ import annotations

import functools
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, Final

from otel_mcp import hooks
from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.patching import Switch
from otel_mcp._hosts._hermes_breakers import Breakers
from otel_mcp._hosts._hermes_connections import LISTING, Connections

_ATTEMPT: Final = "_handler.<locals>._call"
"""End of the qualified name of the function that holds one attempt; everything else on the loop is housekeeping."""


class Running:
    """One call, with what cannot be read off its attempts: how the agent's thread was released."""

    __slots__ = ("call", "gated", "recovery", "runs", "verdict")

    def __init__(self, call: hooks.Call, *, gated: bool) -> None:
        self.call = call
        self.gated = gated
        """The breaker would refuse it."""
        self.runs = 0
        self.recovery: str | None = None
        """Hermes is recovering, from this."""
        self.verdict: dict[str, Any] = {}

    def released(self, error: BaseException, timeout: float | None, started: float) -> None:
        """The agent's thread got this exception from the loop, or from its own clock."""
        if isinstance(error, InterruptedError):
            self.verdict = {"outcome": "cancelled"}
        elif isinstance(error, TimeoutError) and timeout is not None and time.monotonic() - started >= timeout:
            cause = "lock_wait" if self.call.waits_for_lock else None
            self.verdict = {"outcome": "deadline", "cause": cause, "limit": timeout, "limit_source": "host"}
        elif self.call.attempts < self.runs:
            # Nothing was handed to a session: the loop is not running, or the session went while the call stood in
            # line, and `None` has no `call_tool`.
            self.verdict = {"outcome": "rejected", "error_type": "not_connected"}

    def tell(self) -> None:
        """How the call ends, once nothing more is tried; its attempts say the rest."""
        if not self.runs:
            self.call.reject("breaker_open" if self.gated else "not_connected")
        elif self.verdict:
            self.call.end(**self.verdict)


CURRENT: Final[ContextVar[Running | None]] = ContextVar("otel_mcp_hermes_call", default=None)


class Calls:
    """Wrappers around the handlers and what they use."""

    def __init__(self, breakers: Breakers, connections: Connections, switch: Switch) -> None:
        self._breakers = breakers
        self._connections = connections
        self._switch = switch

    def wrap_tool_factory(self, original: Any) -> Any:
        """For `_make_tool_handler(server_name, tool_name, tool_timeout)`."""

        @functools.wraps(original)
        def _make_tool_handler(server: str, tool: str, timeout: float, *args: Any, **kwargs: Any) -> Any:
            handler = original(server, tool, timeout, *args, **kwargs)
            return self._watched(handler, server, n.TOOLS_CALL, timeout, lambda _: tool)

        return _make_tool_handler

    def wrap_factory(self, original: Any, method: str, argument: str) -> Any:
        """For the factories of `read_resource` and `get_prompt`; without its argument Hermes asks nobody."""

        def target(args: Any) -> str | None:
            name = args.get(argument) if isinstance(args, dict) else None
            if not name:
                raise LookupError(argument)
            return name if method == n.PROMPTS_GET and isinstance(name, str) else None

        @functools.wraps(original)
        def make_handler(server: str, timeout: float, *args: Any, **kwargs: Any) -> Any:
            handler = original(server, timeout, *args, **kwargs)
            return self._watched(handler, server, method, timeout, target)

        return make_handler

    def wrap_list_factory(self, original: Any, method: str) -> Any:
        """For the factories of `list_resources` and `list_prompts`: no calls, but they take the lock."""

        @functools.wraps(original)
        def make_handler(*args: Any, **kwargs: Any) -> Any:
            handler = original(*args, **kwargs)

            @functools.wraps(handler)
            def _handler(*given: Any, **named: Any) -> Any:
                token = LISTING.set(method)
                try:
                    return handler(*given, **named)
                finally:
                    LISTING.reset(token)

            return _handler

        return make_handler

    def _watched(self, handler: Any, server: str, method: str, timeout: Any, target: Any) -> Any:
        @functools.wraps(handler)
        def _handler(args: Any, **kwargs: Any) -> Any:
            running = self._begin(server, method, target, args, timeout) if self._switch.on else None
            if running is None:
                return handler(args, **kwargs)
            token = CURRENT.set(running)
            try:
                with running.call:
                    result = handler(args, **kwargs)
                    with guarded("hermes", "a call's outcome"):
                        running.tell()
                    return result
            finally:
                CURRENT.reset(token)
                with guarded("hermes", "a breaker's state"):
                    self._breakers.sync(server)

        return _handler

    def _begin(self, server: str, method: str, target: Any, args: Any, timeout: Any) -> Running | None:
        with guarded("hermes", "one call"), suppress(LookupError):
            limit = float(timeout) if timeout is not None else None
            call = hooks.call(server, tool=target(args), method=method, limit=limit)
            state = self._breakers.sync(server)
            call.breaker(state)
            # Only tool calls pass the gate; resources and prompts have none.
            return Running(call, gated=state == "open" and method == n.TOOLS_CALL)
        return None

    def wrap_run(self, original: Any) -> Any:
        """For `_run_on_mcp_loop(coro_or_factory, timeout)`: how the agent's thread is released."""

        @functools.wraps(original)
        def _run_on_mcp_loop(work: Any, timeout: Any = 30, *args: Any, **kwargs: Any) -> Any:
            running = CURRENT.get() if self._switch.on else None
            if running is None or not str(getattr(work, "__qualname__", "")).endswith(_ATTEMPT):
                return original(work, timeout, *args, **kwargs)
            with guarded("hermes", "one attempt"):
                running.runs += 1
                running.verdict = {}
                running.call.limit(float(timeout) if timeout is not None else None)
            started = time.monotonic()
            try:
                return original(work, timeout, *args, **kwargs)
            except BaseException as error:
                with guarded("hermes", "how a call ended"):
                    running.released(error, timeout, started)
                raise

        return _run_on_mcp_loop

    def wrap_recovery(self, original: Any, reason: str) -> Any:
        """For the two functions that repair a connection and send the call again."""

        @functools.wraps(original)
        def recover(*args: Any, **kwargs: Any) -> Any:
            running = CURRENT.get() if self._switch.on else None
            if running is not None:
                running.recovery = reason
            try:
                return original(*args, **kwargs)
            finally:
                if running is not None:
                    running.recovery = None

        return recover

    def wrap_reconnect_and_wait(self, original: Any) -> Any:
        """For `_signal_reconnect_and_wait(server_name, …)`: a reconnect for the sake of the current call."""

        @functools.wraps(original)
        def _signal_reconnect_and_wait(server: str, *args: Any, **kwargs: Any) -> Any:
            with guarded("hermes", "why it reconnects"):
                running = CURRENT.get()
                self._connections.because(server, _why(running))
            with self._connecting():
                return original(server, *args, **kwargs)

        return _signal_reconnect_and_wait

    def wrap_connect_phase(self, original: Any) -> Any:
        """For functions in which the agent's thread waits for a session."""

        @functools.wraps(original)
        def wait(*args: Any, **kwargs: Any) -> Any:
            with self._connecting():
                return original(*args, **kwargs)

        return wait

    def _connecting(self) -> AbstractContextManager[None]:
        running = CURRENT.get() if self._switch.on else None
        return running.call.phase("connect") if running is not None else nullcontext()

    def strike_cause(self) -> str:
        """What the strike that is being counted in this thread is for."""
        running = CURRENT.get()
        if running is None:
            return n.UNKNOWN
        if running.recovery == "auth":
            return "auth"
        running.tell()  # Hermes counts a failure when it has given up
        return running.call.strike_cause()


def _why(running: Running | None) -> str:
    if running is None or running.recovery is None:
        return "requested"
    if running.recovery == "session_expired" and running.call.last_error_type != "session_expired":
        return "transport"  # Hermes treats every closed connection as an expired session
    return running.recovery
