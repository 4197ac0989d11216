"""A small MCP host of one's own, reporting what it does with `otel_mcp.hooks`.

It has what unattended hosts have: a connector name, one lock around requests, a time limit, retries with back-off, a
circuit breaker, a keepalive probe, and an owner task that reconnects. The lines that report are the ones with `hooks`.

    OTEL_MCP_ENABLED=true OTEL_MCP_CALL_LOG=calls.jsonl python examples/own_host/host.py
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from otel_mcp import hooks

LOST = {"Connection closed", "Session terminated"}
"""What the SDK says of a session that is gone. Its codes differ between 1.x and 2.x, and a server may send them too."""


class Refused(Exception):
    """Nothing was sent: the breaker is open, or there is no connection."""


class Breaker:
    """Opens after so many strikes in a row, and lets one call through when its cool-down is over."""

    def __init__(self, connector: str, threshold: int = 3, cooldown: float = 30.0) -> None:
        self.threshold, self.cooldown = threshold, cooldown
        self.strikes: Counter[str] = Counter()
        self._opened_at: float | None = None
        self._report = hooks.breaker(connector)
        self._report.observe(lambda: self.state)  # read on each scrape: half-open begins without a call

    @property
    def state(self) -> str:
        if self._opened_at is None:
            return "closed"
        return "open" if time.monotonic() - self._opened_at < self.cooldown else "half_open"

    def ask(self) -> str:
        """The state at the start of a call. Half-open begins by the clock; the call that meets it first says so."""
        if self.state == "half_open":
            self._report.state("half_open")
        return self.state

    def strike(self, cause: str) -> None:
        self.strikes[cause] += 1
        self._report.strike(cause)
        if self.state == "half_open" or sum(self.strikes.values()) >= self.threshold:
            self._opened_at = time.monotonic()
            self._report.state("open", cause=cause, strikes=self.strikes, cooldown=self.cooldown)

    def succeeded(self) -> None:
        self.strikes.clear()
        self._opened_at = None
        self._report.state("closed")


class Connector:
    """One configured MCP server: a command or a URL. Use it as an asynchronous context manager."""

    def __init__(
        self,
        name: str,
        target: StdioServerParameters | str,
        *,
        limit: float = 30.0,
        attempts: int = 3,
        backoff: float = 0.5,
        keepalive_interval: float = 180.0,
        keepalive_limit: float = 10.0,
        breaker: Breaker | None = None,
    ) -> None:
        self.name, self.target = name, target
        self.limit, self.attempts, self.backoff = limit, attempts, backoff
        self.keepalive_interval, self.keepalive_limit = keepalive_interval, keepalive_limit
        self.breaker = breaker or Breaker(name)
        self.lock = asyncio.Lock()
        self.session: ClientSession | None = None
        self._ready = asyncio.Event()
        self._lost = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None

    # --- connecting ---------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Connector:
        self._owner = asyncio.create_task(self._own())
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait({waiting, self._owner}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._owner.done():
            self._owner.result()
        return self

    async def __aexit__(self, *details: object) -> None:
        if self._owner is not None:
            self._owner.cancel()
            await asyncio.gather(self._owner, return_exceptions=True)

    async def _own(self) -> None:
        """Opens and closes every session in this one task, as the SDK's cancel scopes demand."""
        reason = "initial"
        while True:
            async with self._connected(reason) as session:
                self.session = session
                self._ready.set()
                try:
                    reason = await self._until_lost(session)
                finally:
                    self.session = None
                    self._ready.clear()
                    self._lost.clear()

    @asynccontextmanager
    async def _connected(self, reason: str) -> AsyncIterator[ClientSession]:
        # The task group is what a dying transport cancels, and no more than that.
        async with anyio.create_task_group(), AsyncExitStack() as opened:
            # Its sessions belong to this connector. What was seen to end the last one is a better reason than ours.
            with hooks.connecting(self.name, reason, sure=False):
                read, write, *_ = await opened.enter_async_context(self._transport())
                session = await opened.enter_async_context(ClientSession(read, write))
                await session.initialize()
            yield session

    def _transport(self) -> Any:
        if isinstance(self.target, str):
            return streamable_http_client(self.target)
        return stdio_client(self.target)

    async def _until_lost(self, session: ClientSession) -> str:
        """Probes while nobody calls. Returns why to connect again."""
        while True:
            with anyio.move_on_after(self.keepalive_interval):  # asyncio.wait_for can lose a cancellation before 3.12
                await self._lost.wait()
                return "transport"
            try:
                # The probe waits its turn, so that a slow call is never taken for a dead server.
                async with hooks.lock(self.lock, self.name, holder=f"tools/list on {self.name}"):
                    with hooks.keepalive(self.name, "tools/list"), anyio.fail_after(self.keepalive_limit):
                        await session.list_tools()
            except Exception:
                return "keepalive"

    # --- calling ------------------------------------------------------------------------------------------------

    async def call_tool(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        idempotent: bool = False,
        limit: float | None = None,
    ) -> Any:
        """The tool's result.

        Raises:
            Refused: the breaker is open or there is no connection; nothing was sent.
            TimeoutError: the limit ran out, in the queue, between two attempts or while waiting for the answer.
        """
        limit = limit or self.limit
        with hooks.call(self.name, tool=tool, limit=limit, idempotent=idempotent) as call:
            state = self.breaker.ask()
            call.breaker(state)
            if state == "open":
                call.reject("breaker_open")
                raise Refused(f"{self.name} is given a rest after {self.breaker.threshold} failures in a row")
            try:
                with anyio.fail_after(limit):
                    result = await self._attempts(call, tool, arguments or {}, idempotent)
            except Refused:
                call.reject("not_connected")
                raise
            except TimeoutError:
                self.breaker.strike(call.strike_cause())  # "lock_wait" for a call that never left the queue
                raise
            self.breaker.succeeded()  # a tool that refuses its arguments comes from a healthy server
            return result

    def _live_session(self) -> ClientSession:
        if self.session is None:
            raise Refused(f"{self.name} is not connected")
        return self.session

    async def _attempts(self, call: hooks.Call, tool: str, arguments: dict[str, Any], idempotent: bool) -> Any:
        for number in range(1, self.attempts + 1):
            try:
                async with hooks.lock(self.lock, self.name):  # who waits here, how long, and for whom
                    return await self._live_session().call_tool(tool, arguments)
            except Exception as error:
                if isinstance(error, anyio.ClosedResourceError) or str(error) in LOST:
                    self.breaker.strike(call.strike_cause())
                    self._lost.set()
                if number == self.attempts or not idempotent or isinstance(error, Refused):
                    raise
            with call.phase("backoff"):
                await anyio.sleep(self.backoff * 2 ** (number - 1))
                await self._ready.wait()
        raise AssertionError("the loop returns or raises")


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "otel_mcp._demo.faulty", "--name", "odoo"])
    async with Connector("odoo", server, limit=2.0, backoff=0.1) as odoo:
        print(await odoo.call_tool("echo", {"text": "hello"}))
        for _ in range(4):
            try:
                await odoo.call_tool("hang")
            except Exception as error:
                print(type(error).__name__, error)


if __name__ == "__main__":
    asyncio.run(main())
