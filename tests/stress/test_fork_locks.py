"""A fork while another thread holds one of our locks: the child goes on to call an MCP server all the same."""

from __future__ import annotations

import os

import pytest

from harness.children import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

LOCKS = {
    "guard": "guard._lock",
    "ledger": "ledger.lock",
    "labels": "ledger.labels._lock",
    "call log": "runtime._runtime.call_log._thread_lock",
    "runtime": "runtime._runtime.lock",
    "watcher": "runtime._runtime.watcher._lock",
    "providers": "runtime._runtime.providers._lock",
    "instrumentor": "_instrumentor._lock",
}

PROGRAM = """
import asyncio, faulthandler, os, sys, threading
sys.path.insert(0, sys.argv[2])
import otel_mcp
otel_mcp.instrument()
from mcp import ClientSession
from otel_mcp import _instrumentor, hooks
from otel_mcp._ground import guard
from otel_mcp._ledger.ledger import ledger
from otel_mcp._reports import locks
from otel_mcp._start import runtime
from stress.peer import connected

shared = asyncio.Lock()

async def calls():
    async with connected("ok", "forked") as streams, ClientSession(*streams) as session:
        await session.initialize()
        with hooks.call("forked", tool="ok"):
            async with hooks.lock(shared, "forked"):
                await session.call_tool("ok", {})

asyncio.run(calls())
lock = eval(sys.argv[1])
held, release = threading.Event(), threading.Event()

def hold():
    with lock:
        held.set()
        release.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(20, exit=True)  # a child that hangs says where, and fails
    guard.internal_errors()
    asyncio.run(calls())
    guard.internal_errors()
    mine = ledger.connectors["forked"]
    assert sum(mine.calls.values()) == 1, mine.calls
    assert not (mine.sessions or mine.open_calls or ledger.attempts())
    assert all(watched.connector is mine for _, watched in locks._watched.values())
    otel_mcp.uninstrument()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
release.set()
thread.join()
sys.exit(code)
"""


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_a_child_forked_while_another_thread_holds_a_lock_of_ours_makes_its_calls(lock: str) -> None:
    done = run_script(
        PROGRAM,
        lock,
        os.path.dirname(os.path.dirname(__file__)),  # noqa: PTH120
        env={
            "OTEL_EXPORTER_PROMETHEUS_PORT": "0",
            "OTEL_MCP_CALL_LOG": os.devnull,
            "PYTHONWARNINGS": "ignore:This process:DeprecationWarning",
        },
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
