"""Other instrumentors patch the same classes, before us or after us: neither passes the other by."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from mcp import ClientSession
from opentelemetry import trace

from harness.servers import Servers
from harness.sessions import MAJOR, call_tool, client_session, text
from otel_mcp import testing
from otel_mcp._ground.patching import Patch, PatchSet


class Base:
    def greet(self, name: str) -> str:
        return f"hello {name}"


class Derived(Base):
    pass


def loud(original: Any) -> Any:
    @functools.wraps(original)
    def greet(self: Any, name: str) -> str:
        return str(original(self, name)).upper()

    return greet


def test_who_patches_the_base_class_after_us_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    patches = PatchSet()
    patches.install([Patch("mcp", __name__, "Derived.greet", lambda original: loud(original))])
    try:
        assert Derived().greet("ada") == "HELLO ADA"
        monkeypatch.setattr(Base, "greet", lambda self, name: f"good day {name}")
        assert Derived().greet("ada") == "GOOD DAY ADA"
    finally:
        patches.uninstall()
    assert "greet" not in vars(Derived)


@pytest.mark.anyio
async def test_who_stands_inside_finds_our_span_current_where_the_sdk_makes_none(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, current = ClientSession.send_request, []

    @functools.wraps(original)
    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        current.append(getattr(trace.get_current_span(), "name", None))
        return await original(self, request, *args, **kwargs)

    monkeypatch.setattr(ClientSession, "send_request", send_request)
    with testing.capture():
        async with client_session(servers.stdio().target) as session:
            assert text(await call_tool(session, "echo", {"text": "hello"})) == "hello"
    methods = ["initialize", "tools/call", "tools/list"]
    assert [name and name.split()[0] for name in current] == (methods if MAJOR == 1 else [None] * 3)
    assert not trace.get_current_span().get_span_context().is_valid
