"""A fork while another thread holds one of our locks: the child goes on to call an MCP server all the same.

One program forks a child for each lock: a program for each would import the SDK as often.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

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
import asyncio, faulthandler, json, os, sys, threading, traceback
sys.path.insert(0, sys.argv[1])
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

def child():
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

def forked_while_held(lock):
    held, release = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    release.set()
    thread.join()
    return code

asyncio.run(calls())
print(json.dumps({each: forked_while_held(eval(each)) for each in sys.argv[2:]}))
"""


@pytest.fixture(scope="module")
def done() -> CompletedProcess[str]:
    return run_script(
        PROGRAM,
        str(Path(__file__).parents[1]),
        *LOCKS.values(),
        env={
            "OTEL_EXPORTER_PROMETHEUS_PORT": "0",
            "OTEL_MCP_CALL_LOG": os.devnull,
            "PYTHONWARNINGS": "ignore:This process:DeprecationWarning",
        },
    )


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_a_child_forked_while_another_thread_holds_a_lock_of_ours_makes_its_calls(
    lock: str, done: CompletedProcess[str]
) -> None:
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[lock] == 0, done.stderr
