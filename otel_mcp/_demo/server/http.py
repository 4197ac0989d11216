"""The server over streamable HTTP (``/mcp``) and over the older HTTP+SSE transport (``/sse``), on loopback."""

from __future__ import annotations

import asyncio
import json
import secrets

from otel_mcp._demo.server.channel import Channel, Message
from otel_mcp._demo.server.dialogue import MODERN_VERSION, Dialogue
from otel_mcp._demo.server.faults import Fault
from otel_mcp._demo.server.options import Options
from otel_mcp._demo.server.tokens import Tokens, challenge
from otel_mcp._demo.server.wire import Connection, Request, read_request

SESSION_HEADER = "mcp-session-id"
_HTML = b"<!doctype html><title>Sign in</title><p>Please sign in to the hotel network.</p>"


class HttpServer:
    """Listens on 127.0.0.1 and tells its address on stdout once it can be reached."""

    def __init__(self, dialogue: Dialogue, options: Options) -> None:
        self.dialogue = dialogue
        self.options = options
        self.tokens = Tokens(options)
        self.sessions: set[str] = set()
        self.base = ""
        self._sse: dict[str, SseChannel] = {}

    async def serve(self) -> None:
        """Runs until the process is told to end."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.options.port, limit=16 * 1024 * 1024)
        host, port = server.sockets[0].getsockname()[:2]
        self.base = f"http://{host}:{port}"
        print(f"{self.base}/mcp", flush=True)
        await asyncio.Event().wait()

    def new_session(self) -> str:
        session = secrets.token_hex(8)
        self.sessions.add(session)
        self.dialogue.counts.sessions += 1
        self.dialogue.counts.write()
        return session

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        try:
            while (request := await read_request(reader)) is not None:
                await self._route(request, connection)
        finally:
            await connection.close()

    async def _route(self, request: Request, connection: Connection) -> None:
        if await self.tokens.serve(request, connection, self.base):
            return
        if not self.tokens.admits(request):
            await self.refuse(connection, 401)
        elif request.path == "/mcp":
            await self._streamable(request, connection)
        elif request.path == "/mcp/":
            await connection.answer(307, headers={"location": "/mcp"})  # as the usual frameworks do
        elif request.path == "/sse" and request.method == "GET":
            await self._open_sse(connection)
        elif request.path == "/messages" and request.method == "POST":
            await self._sse_message(request, connection)
        else:
            await self.refuse(connection, 404)

    async def refuse(self, connection: Connection, status: int) -> None:
        """Answers with a bare HTTP status, as a proxy in front of a server does."""
        self.dialogue.counts.http_statuses[str(status)] += 1
        self.dialogue.counts.write()
        headers = challenge(self.base) if status == 401 else {"retry-after": "1"} if status in (429, 503) else {}
        await connection.answer(status, f"status {status}".encode(), headers=headers)

    async def _streamable(self, request: Request, connection: Connection) -> None:
        session = request.headers.get(SESSION_HEADER)
        if session is not None and session not in self.sessions:
            await self.refuse(connection, 404)
        elif request.method == "DELETE":
            self.sessions.discard(session or "")
            await connection.answer(200)
        elif request.method == "GET":
            await self._get_stream(connection)
        elif request.method == "POST":
            await self._post(request, connection, session)
        else:
            await self.refuse(connection, 405)

    async def _get_stream(self, connection: Connection) -> None:
        if not self.options.get_stream:
            await self.refuse(connection, 405)
            return
        await connection.begin_events()
        await connection.client_left()

    async def _post(self, request: Request, connection: Connection, session: str | None) -> None:
        message: Message = json.loads(request.body)
        channel = PostChannel(self, connection, message, session)
        task = await self.dialogue.receive(message, channel)
        if task is None:
            if not channel.done:
                await connection.answer(202)
            return
        left = asyncio.create_task(connection.client_left())
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            left.cancel()
            await asyncio.wait((left,))
            task.result()
            await channel.finish()
            return
        self.dialogue.counts.disconnects += 1
        self.dialogue.counts.write()
        if request.headers.get("mcp-protocol-version") == MODERN_VERSION:
            task.cancel()  # in that revision a closed stream is the cancellation
        await connection.close()

    async def _open_sse(self, connection: Connection) -> None:
        session = self.new_session()
        channel = self._sse[session] = SseChannel(self, connection)
        await connection.begin_events()
        await connection.event(f"/messages?session_id={session}", name="endpoint")
        await connection.client_left()
        channel.left = True
        del self._sse[session]

    async def _sse_message(self, request: Request, connection: Connection) -> None:
        channel = self._sse.get("".join(request.query.get("session_id", [])))
        if channel is None:
            await self.refuse(connection, 404)
            return
        message: Message = json.loads(request.body)
        await connection.answer(202)
        await self.dialogue.receive(message, channel)


class PostChannel(Channel):
    """The answer to one POST: an event stream, or JSON where the options say so."""

    def __init__(self, server: HttpServer, connection: Connection, message: Message, session: str | None) -> None:
        self._server = server
        self._connection = connection
        self._session = session
        self._headers: dict[str, str] = {}
        self.done = False
        if message.get("method") == "initialize":
            self._headers = {SESSION_HEADER: ""}

    @property
    def conversation(self) -> object:
        return self._session

    async def begin(self) -> None:
        if SESSION_HEADER in self._headers:
            self._headers[SESSION_HEADER] = self._server.new_session()
        if not self._server.options.json_answers:
            await self._connection.begin_events(self._headers)

    async def send(self, message: Message) -> None:
        if self._connection.streaming:
            await self._connection.event(json.dumps(message))
        elif "id" in message and "method" not in message:
            self.done = True
            await self._connection.answer_json(200, message, self._headers)

    async def finish(self) -> None:
        if self._connection.streaming:
            await self._connection.end_events()

    async def misbehave(self, fault: Fault) -> bool:
        self.done = True
        if fault.do == "status":
            await self._server.refuse(self._connection, int(fault.value or 500))
        elif fault.do == "forget":
            self._server.sessions.discard(self._session or "")
            await self._server.refuse(self._connection, 404)
        elif fault.do in ("reset", "drop"):
            self._connection.reset()
        elif fault.do == "eof":
            await self._connection.begin_events()
        elif fault.do == "accepted":
            await self._connection.answer(202)
        elif fault.do == "html":
            await self._connection.answer(200, _HTML, "text/html")
        else:
            self.done = False
        return self.done


class SseChannel(Channel):
    """The one event stream of a client of the older transport."""

    def __init__(self, server: HttpServer, connection: Connection) -> None:
        self._server = server
        self._connection = connection
        self.left = False

    async def send(self, message: Message) -> None:
        if not self.left:
            await self._connection.event(json.dumps(message))

    async def misbehave(self, fault: Fault) -> bool:
        if fault.do in ("reset", "drop"):
            self._connection.reset()
            return True
        if fault.do == "eof":
            await self._connection.end_events()
            await self._connection.close()
            return True
        return False
