"""Hermes Agent's tools without its model: what a model would call is written down here.

Nothing in this file knows that it is watched. ``python acts.py rejected`` runs one act; it then waits for the end of
its standard input before it shuts down, so that there is time to look.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import threading
import time
from typing import Any

os.environ.setdefault("HERMES_HOME", tempfile.mkdtemp(prefix="hermes-story-"))
# Hermes logs what it thinks of its servers; the story shows what was seen instead.
logging.disable(logging.CRITICAL)

from tools.mcp_tool import register_mcp_servers, shutdown_mcp_servers  # noqa: E402 - after its home is known
from tools.registry import registry  # noqa: E402


def server(*options: str, **config: Any) -> dict[str, Any]:
    """An entry of `mcp_servers` in Hermes' config.yaml, for a server that misbehaves as the options say."""
    # Hermes hands a server only the environment it is told to.
    path = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    return {"command": sys.executable, "args": ["-m", "otel_mcp._demo.faulty", *options], "env": path, **config}


def call(connector: str, tool: str, **arguments: Any) -> None:
    """Call a tool as Hermes' agent loop does, and say what the model is told."""
    started = time.monotonic()
    answer = json.loads(registry.dispatch(f"mcp__{connector}__{tool}", arguments))
    told = str(answer.get("error") or answer.get("result"))
    print(f"{connector} {tool}: {time.monotonic() - started:.1f} s: {told}", flush=True)


def later(connector: str, tool: str, **arguments: Any) -> threading.Thread:
    """The same in another thread: a second agent of the gateway."""
    thread = threading.Thread(target=call, args=(connector, tool), kwargs=arguments)
    thread.start()
    return thread


def rejected() -> None:
    """Three arguments that a healthy server refuses; then calls of a tool that would have worked."""
    register_mcp_servers({"calendar": server(timeout=10)})
    call("calendar", "echo", text="it works")
    for _ in range(3):
        call("calendar", "reject")
    call("calendar", "echo", text="it would work")
    call("calendar", "echo", text="it would still work")


def queue() -> None:
    """Three slow calls, one lock, three seconds for each."""
    # This server says "my tools have changed" in a call. Hermes then lists them again behind the same lock, and for
    # that it has no time limit; the server needs 8 s.
    fault = "do=delay,value=8,on=tools/list,after=1"
    register_mcp_servers({"odoo": server("--fault", fault, timeout=3)})
    first = later("odoo", "slow", seconds=2)
    time.sleep(0.2)
    second = later("odoo", "notify_then_wait", seconds=5)
    time.sleep(2.2)
    third = later("odoo", "slow", seconds=0.5)
    for thread in (first, second, third):
        thread.join()


def keepalive() -> None:
    """A server that does one thing at a time gets a ping in the middle of a long call."""
    # 5 s is Hermes' shortest interval, and a ping of its has 30 s.
    register_mcp_servers({"builds": server("--serial", timeout=45, keepalive_interval=5)})
    call("builds", "slow", seconds=300)
    call("builds", "echo", text="a new process answers")


def death() -> None:
    """The server's process ends in a call; Hermes starts another and sends the call again; that one ends too."""
    register_mcp_servers({"scraper": server(timeout=10)})
    call("scraper", "die", code=3)
    for _ in range(3):
        call("scraper", "echo", text="anybody there?")


ACTS = {act.__name__: act for act in (rejected, queue, keepalive, death)}


def main() -> None:
    """Run the act named on the command line."""
    ACTS[sys.argv[1]]()
    print("done", flush=True)
    sys.stdin.read()
    shutdown_mcp_servers()


if __name__ == "__main__":
    main()
