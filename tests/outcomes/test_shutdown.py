"""A program that is told to stop cancels everything at once: its callers gave up, its servers did not fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.children import events, read_jsonl, run_script
from harness.package import path_entry
from harness.real_parts import start_file
from harness.servers import Servers

PROGRAM = """if True:
    import json, sys
    import anyio
    from harness.sessions import call_tool, client_session
    from harness.waiting import await_for
    from mcp import StdioServerParameters
    from pathlib import Path

    async def work(target, seen):
        async with client_session(target) as session:
            await session.list_tools()
            try:
                await call_tool(session, "hang")
            except BaseException as raised:
                seen.append(type(raised).__name__)
                raise

    def called(folder):
        return any('"hang"' in file.read_text() for file in folder.glob("[!.]*.json"))

    async def main(target, folder):
        seen = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, target, seen)
            await await_for(lambda: called(folder))
            tasks.cancel_scope.cancel()
        print(*seen)

    given = json.loads(sys.argv[1])
    target = given if isinstance(given, str) else StdioServerParameters(**given)
    anyio.run(main, target, Path(sys.argv[2]))
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_call_that_is_open_at_the_shutdown_is_cancelled_and_no_fault(
    servers: Servers, tmp_path: Path, transport: str
) -> None:
    start_file()
    server = servers.stdio() if transport == "stdio" else servers.http()
    target = server.target if isinstance(server.target, str) else server.target.model_dump()
    log = tmp_path / "calls.jsonl"
    search = {"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *path_entry().values()])}
    watched = {"OTEL_MCP_ENABLED": "true", "OTEL_MCP_CALL_LOG": str(log), "OTEL_METRICS_EXPORTER": "none", **search}
    ended = run_script(PROGRAM, json.dumps(target), str(server.folder), env=watched)
    assert ended.stdout == "CancelledError\n", ended.stderr
    (call,) = events(read_jsonl(log), "call")
    assert (call["outcome"], call["cause"]) == ("cancelled", None)
    assert not events(read_jsonl(log), "fault")


BEGUN_TOO_LATE = """if True:
    import json, sys
    import anyio
    from harness.sessions import call_tool, client_session
    from mcp import StdioServerParameters

    async def main(target):
        async with client_session(target) as session:
            await session.list_tools()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await call_tool(session, "hang")
            with anyio.move_on_after(-1):
                await call_tool(session, "hang")

    anyio.run(main, StdioServerParameters(**json.loads(sys.argv[1])))
"""


def test_a_call_that_begins_in_a_cancelled_scope_ends_as_what_cancelled_the_scope(
    servers: Servers, tmp_path: Path
) -> None:
    start_file()
    log = tmp_path / "calls.jsonl"
    search = {"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *path_entry().values()])}
    watched = {"OTEL_MCP_ENABLED": "true", "OTEL_MCP_CALL_LOG": str(log), "OTEL_METRICS_EXPORTER": "none", **search}
    ended = run_script(BEGUN_TOO_LATE, json.dumps(servers.stdio().target.model_dump()), env=watched)
    assert ended.returncode == 0, ended.stderr
    assert [call["outcome"] for call in events(read_jsonl(log), "call")] == ["cancelled", "deadline"]
