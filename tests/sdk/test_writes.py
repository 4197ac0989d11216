"""When a request has left: its own bytes, and no others that look like it."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import mcp.types as types
import pytest
from anyio.abc import ByteSendStream

from harness.sessions import MAJOR
from otel_mcp import testing
from otel_mcp._ledger.model import Transport
from otel_mcp._observe import attempts, sessions
from otel_mcp._sdk import http, streams

pytestmark = pytest.mark.anyio


class Pipe(ByteSendStream):
    """Stands in for a server's stdin."""

    async def send(self, item: bytes) -> None:
        pass

    async def aclose(self) -> None:
        pass


def line(message: Any) -> bytes:
    """A message as the SDK writes it to a server's stdin."""
    unwanted = {"exclude_none": True} if MAJOR == 1 else {"exclude_unset": True}
    return (message.model_dump_json(by_alias=True, **unwanted) + "\n").encode()


async def test_an_answer_to_a_servers_request_is_not_taken_for_the_request_with_the_same_id() -> None:
    transport = Transport("stdio", "server", "server", observes_writes=True)
    with testing.capture():
        process = SimpleNamespace(_stdin=Pipe())
        streams._watch_process(process, transport)
        session = sessions.opened(transport)
        attempt = attempts.begin(session, "tools/call", "echo", 5, None, None)
        await process._stdin.send(line(types.JSONRPCResponse(jsonrpc="2.0", id=5, result={"item": {"id": 5}})))
        assert attempt.sent_at is None
        request = types.JSONRPCRequest(jsonrpc="2.0", id=5, method="tools/call", params={"name": "echo"})
        await process._stdin.send(line(request))
        assert attempt.sent_at is not None


async def test_a_request_through_a_proxy_has_not_left_before_the_tunnel_stands() -> None:
    httpcore, httpx = ((f"{name}2" if MAJOR == 2 else name) for name in ("httpcore", "httpx"))
    core: Any = importlib.import_module(httpcore)
    client: Any = importlib.import_module(httpx)
    # httpcore's own stand-in for a network: the proxy's answer, then the server's.
    network = core.AsyncMockBackend([b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"])
    told: list[str] = []
    left: list[list[str]] = []

    async def listen(event: str, info: Any) -> None:
        told.append(event.partition(".")[2])

    with testing.capture():
        post = http.Post(Transport("http", "server", "server"), None)
        post.left = lambda: left.append(told[:])  # type: ignore[method-assign]
        token = http.POST.set(post)
        transport = client.AsyncHTTPTransport()
        transport._pool = core.AsyncHTTPProxy("http://proxy.test", network_backend=network)
        async with client.AsyncClient(transport=transport) as session:
            headers = {"accept": "application/json, text/event-stream"}
            await session.post("https://server.test/mcp", json={}, headers=headers, extensions={"trace": listen})
        http.POST.reset(token)
    assert left
    assert "start_tls.complete" in left[0]
    assert "receive_response_headers.complete" not in left[0][left[0].index("start_tls.complete") :]
