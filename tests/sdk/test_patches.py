"""Install and uninstall are exact inverses, whoever else has a hand on the SDK."""

from __future__ import annotations

import functools
import sys
from typing import Any

import anyio
import mcp
import pytest
from mcp import ClientSession
from mcp.client.stdio import stdio_client

from harness.children import run_script
from harness.observing import Program, bounded, run
from harness.servers import HttpServer
from harness.sessions import call_tool, client_session, text
from otel_mcp import _sdk, testing
from otel_mcp._ground.patching import patch_set, statuses
from otel_mcp._sdk import table, v1, v2

pytestmark = pytest.mark.anyio

ABSENT = object()


def rows() -> list[Any]:
    switch = patch_set("mcp").switch
    own = v2.patches(switch) if table.major_version() == 2 else v1.patches(switch)
    return [*own, *table.shared(switch), *table.clock_patches()]


def standing() -> dict[str, Any]:
    """What stands at every patch point: the owner's own entry, or the content of the closure cell."""
    found = {}
    for row in rows():
        owner = sys.modules.get(row.module)
        *parents, name = row.path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        value = vars(owner).get(name, ABSENT) if owner is not None else ABSENT
        if row.cell is not None and value is not ABSENT:
            value = value.__closure__[value.__code__.co_freevars.index(row.cell)].cell_contents
        found[f"{row.module}:{row.path}"] = value
    return found


def test_three_cycles_leave_every_attribute_and_closure_cell_the_object_it_was() -> None:
    _sdk.install()  # imports what it patches
    _sdk.uninstall()
    before = standing()
    for _ in range(3):
        _sdk.install()
        during = standing()
        changed = {point for point, value in during.items() if value is not before[point]}
        assert changed == {status.point for status in statuses() if status.state == "active"}
        assert len(changed) > 10
        _sdk.uninstall()
        assert {point for point, value in standing().items() if value is not before[point]} == set()
    assert statuses() == []


def test_no_patch_point_of_this_sdk_is_missing_or_failed() -> None:
    with testing.capture() as seen:
        found = {(status.point, status.state) for status in statuses() if status.target in ("mcp", "asyncio")}
        hooks = {
            (p.attributes["otel_mcp.hook.target"], p.attributes["otel_mcp.hook.state"]): p.value
            for p in seen.metric("otel_mcp.hooks")
        }
    assert {state for _, state in found} == {"active"}
    assert hooks["mcp", "active"] + hooks.get(("asyncio", "active"), 0) == len(found)
    assert hooks["mcp", "missing"] == hooks["mcp", "failed"] == 0


def test_a_second_install_changes_nothing() -> None:
    with testing.capture():
        first = standing()
        _sdk.install()
        assert all(value is first[point] for point, value in standing().items())


async def test_a_wrapper_put_on_top_of_ours_survives_and_ours_becomes_a_passage(http: HttpServer) -> None:
    seen_by_other: list[str] = []
    original = ClientSession.__dict__.get("send_request", ABSENT)
    try:
        with testing.capture() as seen:
            ours = ClientSession.send_request

            @functools.wraps(ours)
            async def other(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
                seen_by_other.append("asked")
                return await ours(self, request, *args, **kwargs)

            ClientSession.send_request = other  # type: ignore[method-assign]
        assert ClientSession.__dict__["send_request"] is other
        assert not patch_set("mcp").switch.on
        async with client_session(http.target) as session:
            assert text(await call_tool(session, "echo", {"text": "through"})) == "through"
        assert "asked" in seen_by_other
        assert seen.spans == ()
    finally:
        if original is ABSENT:
            del ClientSession.send_request
        else:
            ClientSession.send_request = original  # type: ignore[method-assign]


async def test_names_imported_before_us_are_watched(http: HttpServer, servers: Any) -> None:
    server = servers.stdio()
    assert stdio_client is mcp.stdio_client
    with testing.capture() as seen:
        async with stdio_client(server.target) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await call_tool(session, "echo")
    assert [(call.connector, call.transport, call.outcome) for call in seen.calls] == [("faulty", "stdio", "ok")]


async def test_a_subclass_that_overrides_send_request_makes_one_attempt_a_request(http: HttpServer) -> None:
    class Careful(ClientSession):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:  # unhashable, as a dataclass would be
            return self is other

        async def send_request(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            return await super().send_request(*args, **kwargs)

    with testing.capture() as seen:
        async with client_session(http.target, session_class=Careful) as session:
            await call_tool(session, "echo")
    assert [call.attempts for call in seen.calls] == [1]
    assert [span.attributes["mcp.method.name"] for span in seen.spans if span.kind == "CLIENT"] == [
        "initialize",
        "tools/call",
        "tools/list",
    ]


async def test_a_result_is_the_very_object_that_the_layer_below_returned(http: HttpServer) -> None:
    given: list[Any] = []

    class Keeping(ClientSession):
        async def send_request(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            given.append(await super().send_request(*args, **kwargs))
            return given[-1]

    with testing.capture():
        async with client_session(http.target, session_class=Keeping) as session:
            result = await call_tool(session, "echo")
    assert any(result is one for one in given)


async def test_an_exception_is_the_very_object_that_was_raised_below_us(http: HttpServer) -> None:
    raised = ValueError("from below")

    class Failing(ClientSession):
        async def send_request(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            raise raised

    with testing.capture() as seen:
        async with client_session(http.target, session_class=Failing, initialize=False) as session:
            with pytest.raises(ValueError, match="from below") as caught:
                await call_tool(session, "echo")
    assert caught.value is raised
    assert caught.value.__context__ is None
    assert [(call.outcome, call.error_type) for call in seen.calls] == [("error", "ValueError")]


def test_a_session_outlives_our_leaving(http: HttpServer) -> None:
    async def program(it: Program) -> None:
        with testing.capture() as seen:
            manager = client_session(http.target)
            session = await manager.__aenter__()
            await call_tool(session, "echo")
        assert text(await call_tool(session, "echo", {"text": "still"})) == "still"
        await manager.__aexit__(None, None, None)
        it.saw.append(len(seen.calls))

    assert run(program) == [1]


def test_several_threads_with_loops_of_their_own_are_told_apart(http: HttpServer) -> None:
    async def calls() -> None:
        async with client_session(http.target) as session, anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call_tool, session, "echo")

    async def threads() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(anyio.to_thread.run_sync, lambda: anyio.run(calls))

    with testing.capture() as seen, bounded():
        anyio.run(threads)
    statistics = seen.statistics()
    (connector,) = statistics.connectors.values()
    assert (connector.calls["ok"], connector.attempts, connector.generation) == (20, 20, 4)
    assert (statistics.open_calls, statistics.open_requests, connector.state) == (0, 0, "closed")
    assert len({call.fields["id"] for call in seen.calls}) == 20
    assert len([span for span in seen.spans if span.name == "tools/call echo"]) == 20


def test_after_uninstrument_a_hosts_report_starts_nothing() -> None:
    ran = run_script(
        "import mcp, otel_mcp\n"
        "from otel_mcp import hooks\n"
        "from otel_mcp._start import runtime\n"
        "otel_mcp.instrument()\n"
        "otel_mcp.uninstrument()\n"
        "with hooks.call('odoo', tool='search'):\n"
        "    pass\n"
        "print(runtime.in_force())\n"
    )
    assert "'metrics': 'none', 'logs': 'none', 'endpoint': None" in ran.stdout, ran.stderr
