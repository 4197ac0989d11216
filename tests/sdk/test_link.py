"""What is known of transports: of each while it is there, and no longer."""

from __future__ import annotations

import asyncio
import gc
import warnings

from harness.servers import HttpServer
from harness.sessions import streamable_http_client
from otel_mcp import testing
from otel_mcp._sdk import link


def test_a_transport_that_nobody_left_goes_with_its_event_loop(http: HttpServer) -> None:
    known = []

    async def left_open() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        opened = streamable_http_client(http.target)
        await opened.__aenter__()
        known.append(len(link.transports))

    with testing.capture(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that is what the SDK and asyncio say of it
        asyncio.run(left_open())
        gc.collect()
        assert (known, len(link.transports)) == ([1], 0)


def test_a_session_on_a_stream_that_takes_no_weak_reference_is_seen_as_one_without_a_transport() -> None:
    class Stream:
        __slots__ = ()

    class Session:
        _write_stream = Stream()

    assert link.transport_of(Session()).kind == "memory"
