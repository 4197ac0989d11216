"""An agent with our telemetry set by variables: ``collected.py``. Answers a number with how long each call took, in µs.

Between two calls it lets its event loop be for a moment, as a program does that waits for real servers.
"""

from __future__ import annotations

import time

import anyio
from channel import answer, questions
from transports import calling

import otel_mcp

PAUSE = 0.001
"""Seconds between two calls."""


async def main() -> None:
    otel_mcp.instrument()
    async with calling("memory") as call:
        answer("ready")
        for count in questions():
            times = []
            for _ in range(count):
                await anyio.sleep(PAUSE)
                before = time.perf_counter_ns()
                await call()
                times.append((time.perf_counter_ns() - before) / 1000)
            answer(times)


if __name__ == "__main__":
    anyio.run(main)
