"""The misbehaving server does what its command line says, seen by a real client of the SDK under test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.package import environment
from harness.servers import MODULE, Fault, HttpServer, Options, Servers, StdioServer
from harness.sessions import (
    LOCAL_TIMEOUT_CODE,
    MAJOR,
    McpError,
    call_tool,
    client_session,
    error_code,
    is_error,
    ping,
    text,
)
from harness.waiting import await_for, wait_for
from otel_mcp._demo.server.counts import total
from otel_mcp._demo.server.faults import BadFault, parse
from otel_mcp._demo.server.options import arguments, read

pytestmark = pytest.mark.anyio

BOUND = 30.0


@pytest.fixture(params=["stdio", "http", "http-json", "sse"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def start(servers: Servers, transport: str, *faults: Fault, **options: Any) -> tuple[StdioServer | HttpServer, Any]:
    """A server and what a client connects to."""
    if transport == "stdio":
        stdio = servers.stdio(*faults, **options)
        return stdio, stdio.target
    http = servers.http(*faults, json_answers=transport == "http-json", **options)
    return http, http.sse if transport == "sse" else http.target


async def test_a_healthy_tool_answers_on_every_transport_and_is_counted(servers: Servers, transport: str) -> None:
    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            result = await call_tool(session, "echo", {"text": "hello"})
            await ping(session)
    assert (is_error(result), text(result)) == (False, "hello")
    counts = server.counts()
    assert counts["spawns"] == 1
    assert counts["requests"]["tools/call"] == counts["requests"]["ping"] == 1
    assert counts["tools"] == {"echo": {"asked": 1, "result": 1}}


async def test_a_rejecting_tool_answers_with_its_text(servers: Servers, transport: str) -> None:
    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            result = await call_tool(session, "reject", {"text": "amount must be positive"})
    assert (is_error(result), text(result)) == (True, "amount must be positive")
    assert server.counts()["tools"]["reject"] == {"asked": 1, "tool_error": 1}


async def test_any_json_rpc_code_can_be_sent(servers: Servers, transport: str) -> None:
    _, target = start(servers, transport)
    codes = [408, -32001, -32000, -32602]
    seen: list[Exception] = []
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            for code in codes:
                with pytest.raises(McpError) as caught:
                    await call_tool(session, "rpc_error", {"code": code})
                seen.append(caught.value)
    assert [error_code(error) for error in seen] == codes
    assert not [error for error in seen if isinstance(error.__context__, TimeoutError)]


async def test_a_hanging_tool_is_cut_by_the_clients_limit_only(servers: Servers, transport: str) -> None:
    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            with pytest.raises(McpError) as caught:
                await call_tool(session, "hang", timeout=1.0)
            await call_tool(session, "echo", {"text": "still there"})
    assert error_code(caught.value) == LOCAL_TIMEOUT_CODE
    assert isinstance(caught.value.__context__, TimeoutError)
    assert server.counts()["tools"]["hang"].keys() <= {"asked", "cancelled"}


async def test_a_held_call_is_answered_when_the_test_says_so(servers: Servers, transport: str, tmp_path: Path) -> None:
    server, target = start(servers, transport)
    until = tmp_path / "go"
    with anyio.fail_after(BOUND):
        async with client_session(target) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(call_tool, session, "hold", {"until": str(until)})
            await await_for(lambda: server.counts().get("tools", {}).get("hold"))
            assert server.counts()["tools"]["hold"] == {"asked": 1}
            until.touch()
    assert server.counts()["tools"]["hold"] == {"asked": 1, "result": 1}


async def give_up_once_received(server: StdioServer | HttpServer, session: Any, tool: str, **arguments: Any) -> None:
    """Calls a tool, and cancels the call once the server has it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call_tool, session, tool, arguments)
        await await_for(lambda: server.counts()["tools"].get(tool))
        tasks.cancel_scope.cancel()


async def test_a_held_call_is_answered_although_its_caller_gave_up(
    servers: Servers, transport: str, tmp_path: Path
) -> None:
    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            await give_up_once_received(server, session, "hold", until=str(tmp_path / "go"))
            await call_tool(session, "echo")
            (tmp_path / "go").touch()
            await await_for(lambda: server.counts()["tools"]["hold"].get("result"))
            # The late answer is before this one on a pipe or an event stream. mcp 1.x fails to leave a session whose
            # transport is just then about to hand it an answer.
            await call_tool(session, "echo")


async def test_a_slow_tool_hears_of_the_cancellation_that_2_x_sends(servers: Servers, transport: str) -> None:
    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            await give_up_once_received(server, session, "slow", seconds=60)
            if MAJOR == 1:
                await call_tool(session, "echo")
                assert server.counts()["notifications"].keys() == {"notifications/initialized"}
            else:
                await await_for(lambda: server.counts()["tools"]["slow"].get("cancelled"))


async def test_a_dying_server_ends_with_the_code_asked_for(servers: Servers) -> None:
    server = servers.http()
    with anyio.move_on_after(BOUND), pytest.raises(BaseException):  # noqa: B017, PT011 - each SDK tells it in its own way
        async with client_session(server.target, read_timeout=1.0) as session:
            await call_tool(session, "die", {"code": 7})
    assert server.process.wait() == 7
    assert server.counts()["tools"] == {"die": {"asked": 1}}


@pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage"])
async def test_the_server_asks_the_client_while_a_call_is_open(servers: Servers, method: str) -> None:
    for transport in ("stdio", "http", "sse"):
        server, target = start(servers, transport)
        with anyio.fail_after(BOUND):
            async with client_session(target) as session:
                result = await call_tool(session, "ask", {"method": method})
        assert "code" in text(result), "a client without the callback refuses"
        assert server.counts()["asked"] == {method: 1}


async def test_progress_and_notifications_reach_the_client(servers: Servers) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        seen.append(progress)

    for transport in ("stdio", "http", "sse"):
        _, target = start(servers, transport)
        seen.clear()
        with anyio.fail_after(BOUND):
            async with client_session(target) as session:
                await call_tool(session, "progress", {"steps": 2}, progress_callback=on_progress)
                await call_tool(session, "notify_then_wait", {"seconds": 0})
        assert seen == [1, 2]


async def test_noise_on_stdout_precedes_the_answer(servers: Servers) -> None:
    server = servers.stdio(Fault("noise", on="tools/list"))
    strange: list[Exception] = []

    async def on_message(message: Any) -> None:
        if isinstance(message, Exception):
            strange.append(message)

    with anyio.fail_after(BOUND):
        async with client_session(server.target, message_handler=on_message) as session:
            await call_tool(session, "noise", {"lines": 3})
            await session.list_tools()
    assert len(strange) >= 4


async def test_a_stalled_server_takes_no_more_bytes(servers: Servers) -> None:
    server = servers.stdio()
    with anyio.fail_after(BOUND):
        async with client_session(server.target) as session:
            await session.list_tools()  # else the SDK asks for it by itself after the first answer, and hangs there
            await call_tool(session, "stall")
            with pytest.raises(McpError):
                await call_tool(session, "echo", {"text": "x" * 500_000}, timeout=0.3)
            # The limit is armed after the write, which never ends now: only a scope of the caller's own helps.
            with anyio.move_on_after(0.3) as cut:
                await call_tool(session, "echo", timeout=0.1)
            assert cut.cancelled_caught
    assert server.counts()["tools"] == {"stall": {"asked": 1, "result": 1}}


async def test_extra_tools_are_listed_and_answer(servers: Servers) -> None:
    server = servers.stdio(extra_tools=900)
    with anyio.fail_after(BOUND):
        async with client_session(server.target) as session:
            assert len((await session.list_tools()).tools) > 900
            assert text(await call_tool(session, "extra_899", {"text": "last"})) == "last"


async def test_a_serial_server_leaves_a_ping_waiting_while_a_call_is_open(servers: Servers, tmp_path: Path) -> None:
    server = servers.stdio(serial=True)
    until = tmp_path / "go"
    order: list[str] = []

    async def hold(session: Any) -> None:
        await call_tool(session, "hold", {"until": str(until)})
        order.append("call")

    async def probe(session: Any) -> None:
        await ping(session)
        order.append("ping")

    with anyio.fail_after(BOUND):
        async with client_session(server.target) as session, anyio.create_task_group() as tasks:
            await session.list_tools()  # else the SDK asks for it inside the call, behind the ping
            tasks.start_soon(hold, session)
            await await_for(lambda: server.counts().get("tools", {}).get("hold"))
            tasks.start_soon(probe, session)
            await await_for(lambda: server.counts()["requests"].get("ping"))
            until.touch()
    assert order == ["call", "ping"]


@pytest.mark.parametrize("method", ["initialize", "tools/list", "ping"])
async def test_any_method_can_go_unanswered(servers: Servers, transport: str, method: str) -> None:
    server, target = start(servers, transport, Fault("silent", on=method))
    answered: list[str] = []

    async def use() -> None:
        async with client_session(target) as session:
            await (session.list_tools() if method == "tools/list" else ping(session))
            answered.append(method)

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(use)
            await await_for(lambda: server.counts().get("faults"))
            tasks.cancel_scope.cancel()
    assert not answered
    assert server.counts()["requests"][method] == 1


async def test_a_ping_can_be_answered_by_an_error(servers: Servers, transport: str) -> None:
    _, target = start(servers, transport, Fault("error", -32601, on="ping"))
    with anyio.fail_after(BOUND):
        async with client_session(target) as session:
            with pytest.raises(McpError) as caught:
                await ping(session)
            await call_tool(session, "echo")
    assert error_code(caught.value) == -32601


async def test_a_server_can_exit_right_after_the_handshake_each_time_it_is_started(servers: Servers) -> None:
    server = servers.stdio(Fault("exit", 3, on="notifications/initialized"))
    for _ in range(3):
        with anyio.fail_after(BOUND), pytest.raises(Exception):  # noqa: B017, PT011 - each SDK tells it in its own way
            async with client_session(server.target) as session:
                await call_tool(session, "echo")
    counts = server.counts()
    assert (counts["spawns"], counts["requests"]["initialize"]) == (3, 3)


async def test_a_session_is_forgotten_after_so_many_calls(servers: Servers) -> None:
    server = servers.http(Fault("forget", after=2, times=1))
    with anyio.fail_after(BOUND):
        async with client_session(server.target) as session:
            await call_tool(session, "echo")
            await call_tool(session, "echo")
            for _ in range(2):
                with pytest.raises(McpError, match="Session terminated"):
                    await call_tool(session, "echo")
        async with client_session(server.target) as session:
            await call_tool(session, "echo")
    assert server.counts()["sessions"] == 2


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_a_status_comes_after_so_many_calls(servers: Servers, status: int) -> None:
    server = servers.http(Fault("status", status, after=1))
    answered: list[Any] = []
    # 1.x takes its own transport down and cancels the caller in it, 2.x raises: either way the call has no result.
    with anyio.move_on_after(BOUND), pytest.raises(BaseException):  # noqa: B017, PT011, PT012
        async with client_session(server.target, read_timeout=1.0) as session:
            answered.append(await call_tool(session, "echo"))
            answered.append(await call_tool(session, "echo"))
    assert len(answered) == 1
    counts = server.counts()
    assert counts["http_statuses"] == {str(status): 1}
    assert counts["tools"]["echo"] == {"asked": 2, "result": 1}


async def test_a_commit_is_kept_although_its_connection_is_dropped(servers: Servers) -> None:
    server = servers.http(Fault("drop", tool="commit", times=1))
    answered: list[Any] = []
    # Each SDK tells it in its own way.
    with anyio.move_on_after(BOUND), pytest.raises(BaseException):  # noqa: B017, PT011
        async with client_session(server.target, read_timeout=1.0) as session:
            answered.append(await call_tool(session, "commit"))
    assert not answered
    wait_for(lambda: server.counts()["commits"] == 1)
    assert server.counts()["tools"]["commit"] == {"asked": 1}


@pytest.mark.parametrize("kind", ["eof", "accepted", "html"])
async def test_an_http_answer_that_is_none_leaves_the_call_without_a_result(servers: Servers, kind: str) -> None:
    server = servers.http(Fault(kind))
    with anyio.fail_after(BOUND):
        async with client_session(server.target, read_timeout=1.0) as session:
            with pytest.raises(McpError):
                await call_tool(session, "echo")
    assert server.counts()["faults"] == {kind: 1}


async def test_a_token_wears_out_and_the_next_one_is_good(servers: Servers) -> None:
    server = servers.http(require_token=True, token_uses=2, json_answers=True)

    def post(path: str, token: str = "", body: bytes = b"") -> Any:
        request = urllib.request.Request(
            f"{server.base}{path}", data=body, headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=BOUND) as answer:
            return json.loads(answer.read() or b"{}")

    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "nonsense"}).encode()
    with pytest.raises(urllib.error.HTTPError) as refused:
        post("/mcp", body=message)
    refused.value.close()
    assert refused.value.code == 401
    assert "resource_metadata" in refused.value.headers["www-authenticate"]
    first = post("/token")["access_token"]
    assert [post("/mcp", first, message)["error"]["code"] for _ in range(2)] == [-32601, -32601]
    with pytest.raises(urllib.error.HTTPError) as worn_out:
        post("/mcp", first, message)
    worn_out.value.close()
    assert worn_out.value.code == 401
    assert post("/mcp", post("/token")["access_token"], message)["error"]["code"] == -32601


async def test_a_modern_client_discovers_a_modern_server(servers: Servers, transport: str) -> None:
    if MAJOR == 1 or transport == "sse":
        return
    from mcp import Client

    server, target = start(servers, transport, modern_only=True)
    with anyio.fail_after(BOUND):
        async with Client(target) as client:
            result = await client.call_tool("echo", {"text": "modern"})
    assert text(result) == "modern"
    assert "initialize" not in server.counts()["requests"]


async def test_a_handshake_era_server_refuses_discovery(servers: Servers, transport: str) -> None:
    if MAJOR == 1 or transport == "sse":
        return
    from mcp import Client

    server, target = start(servers, transport)
    with anyio.fail_after(BOUND):
        async with Client(target) as client:
            await client.call_tool("echo", {"text": "old"})
    assert server.counts()["requests"]["server/discover"] == server.counts()["requests"]["initialize"] == 1


def test_counts_of_several_processes_are_summed(tmp_path: Path) -> None:
    for number, tools in enumerate([{"echo": {"asked": 2}}, {"die": {"asked": 1}}, {"echo": {"asked": 1}}]):
        (tmp_path / f"{number}.json").write_text(json.dumps({"pid": number, "spawns": 1, "tools": tools}))
    summed = total(sorted(tmp_path.glob("*.json")))
    assert summed == {"pid": [0, 1, 2], "spawns": 3, "tools": {"echo": {"asked": 3}, "die": {"asked": 1}}}


def test_a_server_can_refuse_to_start() -> None:
    command = [sys.executable, "-m", MODULE, "--exit-at-start", "127"]
    assert subprocess.run(command, env=environment(), check=False).returncode == 127


def test_a_server_can_end_after_its_time(servers: Servers) -> None:
    assert servers.http(life=0.2).process.wait() == 0


def test_a_command_line_is_read_back_as_it_was_written() -> None:
    options = Options(
        name="x",
        http=True,
        serial=True,
        get_stream=False,
        cold_start=1.5,
        life=3.0,
        exit_at_start=4,
        count_file="c.json",
        faults=(Fault("status", 401.0, after=3, times=1), Fault("silent", on="ping"), Fault("drop", tool="commit")),
    )
    assert read(arguments(options)) == options
    assert read([]) == Options()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("do=explode", "do=explode is unknown"),
        ("do=status", "needs value="),
        ("do=status,value=many", "value=many is not a number"),
        ("status", "is not name=value"),
        ("do=silent,colour=red", "colour is unknown"),
    ],
)
def test_a_fault_that_cannot_be_read_is_refused_with_the_reason(wrong: str, said: str) -> None:
    with pytest.raises(BadFault, match=said):
        parse(wrong)
