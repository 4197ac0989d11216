"""`otel_mcp.testing` as its page describes it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace

import otel_mcp
from harness.children import run_script
from harness.observing import Program, run
from harness.servers import HttpServer
from harness.sessions import call_tool, client_session
from otel_mcp import hooks, testing
from otel_mcp._ground.patching import patch_set
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import scopes
from otel_mcp._record.recorder import recorder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing.md"


def test_the_pages_first_sample_holds() -> None:
    sample = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    ran = run_script(sample + "\ntest_the_agent_gives_up_on_a_server_that_hangs()\nprint('held')\n")
    assert (ran.stdout, ran.returncode) == ("held\n", 0), ran.stderr


def test_the_pages_fixture_sees_what_a_host_reports() -> None:
    sample = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    names: dict[str, Any] = {}
    exec(sample, names)  # noqa: S102 - the page's own text
    fixture = names["seen"].__wrapped__()
    seen = next(fixture)
    with hooks.call("odoo", tool="search"):
        pass
    assert [(call.connector, call.tool, call.attempts) for call in seen.calls] == [("odoo", "search", 0)]
    assert list(fixture) == []


def state() -> tuple[Any, ...]:
    return (
        dict(vars(ledger)),
        dict(vars(recorder)),
        patch_set("mcp").switch.on,
        list(scopes.starters),
        trace._TRACER_PROVIDER,
        metrics._internal._METER_PROVIDER,
    )


def test_everything_is_as_before_when_the_block_is_left(http: HttpServer) -> None:
    async def program(it: Program) -> None:
        async with client_session(http.target) as session:
            await call_tool(session, "echo")

    before, known = state(), otel_mcp.statistics().connectors
    with testing.capture() as seen:
        run(program)
        assert patch_set("mcp").switch.on
        assert otel_mcp.statistics() != seen.statistics() or otel_mcp.statistics().connectors
    assert state() == before
    assert len(seen.calls) == 1
    assert "127.0.0.1" in next(iter(seen.statistics().connectors))
    assert otel_mcp.statistics().connectors == known


def test_it_is_left_behind_an_exception_too() -> None:
    before = state()
    with pytest.raises(ZeroDivisionError), testing.capture():
        raise ZeroDivisionError
    assert state() == before


def test_a_second_capture_says_that_there_is_one() -> None:
    with testing.capture(), pytest.raises(RuntimeError, match="in use already"), testing.capture():
        pass
    with testing.capture():
        pass


def test_what_it_gives_is_frozen() -> None:
    with testing.capture() as seen, hooks.call("odoo", tool="search"):
        pass
    for entry in (*seen.calls, *seen.events(), *seen.spans, *seen.metric("otel_mcp.client.calls")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(entry, dataclasses.fields(entry)[0].name, "x")
    with pytest.raises(TypeError):
        seen.calls[0].fields["tool"] = "x"  # type: ignore[index]


def test_points_are_found_by_some_of_their_attributes() -> None:
    with testing.capture() as seen:
        for tool in ("a", "b"):
            with hooks.call("odoo", tool=tool):
                pass
    ok = {"otel_mcp.outcome": "ok"}
    assert seen.total("otel_mcp.client.calls", ok) == 2
    assert seen.total("otel_mcp.client.calls", {**ok, "otel_mcp.connector": "else"}) == 0
    (point,) = seen.metric("otel_mcp.client.call.duration", ok)
    assert (point.count, point.value >= 0) == (2, True)
    assert seen.metric("no.such.metric") == ()
