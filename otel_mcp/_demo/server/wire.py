"""As much of HTTP/1.1 as an MCP client needs from a server on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def bearer(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() == "bearer" else None


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; ``None`` when the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, OSError):
        return None
    method, target, _ = first.split(" ", 2)
    url = urlsplit(target)
    return Request(method, url.path, parse_qs(url.query), headers, body)


class Connection:
    """One client connection: whole answers, event streams, and ways to break off."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer
        self.streaming = False

    @property
    def closing(self) -> bool:
        return self._writer.is_closing()

    async def answer(
        self, status: int, body: bytes = b"", kind: str = "text/plain", headers: dict[str, str] | None = None
    ) -> None:
        fields = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
        await self._write(_head(status, fields) + body)

    async def answer_json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        await self.answer(status, json.dumps(value).encode(), "application/json", headers)

    async def begin_events(self, headers: dict[str, str] | None = None) -> None:
        fields = {"content-type": "text/event-stream", "cache-control": "no-cache", "transfer-encoding": "chunked"}
        self.streaming = True
        await self._write(_head(200, {**fields, **(headers or {})}))

    async def event(self, data: str, name: str = "message") -> None:
        chunk = f"event: {name}\r\ndata: {data}\r\n\r\n".encode()
        await self._write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")

    async def end_events(self) -> None:
        self.streaming = False
        await self._write(b"0\r\n\r\n")

    def reset(self) -> None:
        """The client sees a connection reset by its peer."""
        raw: socket.socket | None = self._writer.get_extra_info("socket")
        if raw is not None:
            # With linger on and zero seconds a close sends RST instead of FIN.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def client_left(self) -> None:
        """Returns when the client has closed its end; only while no further request is due on this connection."""
        try:
            await self.reader.read(1)
        except OSError:
            return

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return

    async def _write(self, data: bytes) -> None:
        if self._writer.is_closing():
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            return  # the client has gone


def _head(status: int, fields: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
