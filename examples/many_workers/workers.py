"""A pool of worker processes, each with an MCP session of its own: `python workers.py --workers 3`.

The workers stay until standard input ends, as those of a job queue would.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
from multiprocessing.synchronize import Event

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "otel_mcp._demo.faulty", "--name", "notes"])


async def work(number: int, calls: int, enough: Event) -> None:
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for _ in range(calls):
            await session.call_tool("echo", {"text": f"worker {number}"})
        print(f"worker {number}: {calls} calls", flush=True)
        await asyncio.to_thread(enough.wait)


def worker(number: int, calls: int, enough: Event) -> None:
    asyncio.run(work(number, calls, enough))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    enough = context.Event()
    pool = [context.Process(target=worker, args=(number, given.calls, enough)) for number in range(given.workers)]
    for process in pool:
        process.start()
    sys.stdin.read()
    enough.set()
    for process in pool:
        process.join()


if __name__ == "__main__":
    main()
