"""How the server's logic reaches the client, whatever carries the messages."""

from __future__ import annotations

from typing import Any

from otel_mcp._demo.server.faults import Fault

Message = dict[str, Any]


class Channel:
    """The way back to the client for one request (HTTP) or for all of them (stdio)."""

    @property
    def conversation(self) -> object:
        """What one client's messages have in common; request ids are unique within it."""
        return self

    async def begin(self) -> None:
        """The request is accepted and work on it starts: an event stream sends its headers now."""

    async def send(self, message: Message) -> None:
        """Sends one JSON-RPC message; a client that has gone is no error."""
        raise NotImplementedError

    async def noise(self, text: str) -> None:
        """Writes a line that is no protocol, where the transport has a place for one."""

    async def misbehave(self, fault: Fault) -> bool:
        """Carries out a fault of the transport itself; true if the request is thereby dealt with."""
        raise NotImplementedError

    def stop_reading(self) -> None:
        """Takes no further byte from the client, where one stream carries everything."""
