"""The same small agent with `otel_mcp.resilience.Connector` between it and its servers.

    python careful_agent.py CONFIG.json --seconds 40

The configuration is that of `agent.py`. A call never raises here: its result says how it ended, an open breaker
refuses without calling, and a dead server is connected to again without a word in this file.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import anyio
from mcp import StdioServerParameters

from otel_mcp._demo.agent import main
from otel_mcp.resilience import CircuitBreaker, Connector

DEADLINE = 2.0
"""Seconds an attempt may take: longer than any healthy answer of these servers."""
THRESHOLD = 2
COOLDOWN = 8.0
"""Seconds; short, so that a demo of 40 shows the breaker open, half open and open again."""


async def look_after(name: str, server: dict[str, Any]) -> None:
    """Does one server's jobs one after another, whatever the server does."""
    target = StdioServerParameters(command=server["command"], args=server["args"], env=server.get("env"))
    breaker = CircuitBreaker(name, threshold=THRESHOLD, cooldown=COOLDOWN)
    async with Connector(name, target, deadline=DEADLINE, breaker=breaker) as connector:
        for job in itertools.cycle(server["jobs"]):
            result = await connector.call_tool(job["tool"], job["arguments"])
            if result.bucket != "ok":
                print(
                    name, job["tool"], result.outcome, result.detail, f"breaker {result.breaker}", sep=": ", flush=True
                )
            await anyio.sleep(job["every"])


if __name__ == "__main__":
    sys.exit(main(look_after))
