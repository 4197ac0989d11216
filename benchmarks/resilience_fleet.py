"""Ten connectors to ten real server processes, one hung and one flapping, 1,000 calls: what the healthy eight lose.

    python benchmarks/resilience_fleet.py [--calls 100] [--backend trio]

Prints, for each connector, its calls by outcome and how long they took.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import anyio
from mcp import StdioServerParameters

from otel_mcp.resilience import CallResult, Connector, ReconnectPolicy, RetryPolicy

SERVER = str(Path(__file__).parent.parent / "tests" / "servers" / "resilience_stdio.py")
TOOLS = {0: "hang", 1: "die"}


async def use(number: int, calls: int, results: dict[int, list[CallResult]]) -> None:
    target = StdioServerParameters(command=sys.executable, args=[SERVER])
    policy = RetryPolicy(quiet_time=0.05)
    async with Connector(
        f"c{number}", target, deadline=2.0, policy=policy, reconnect=ReconnectPolicy(base=0.1)
    ) as connector:
        await connector.list_tools(deadline=60)
        for _ in range(calls):
            results[number].append(await connector.call_tool(TOOLS.get(number, "echo")))


async def main(calls: int) -> None:
    results: dict[int, list[CallResult]] = {number: [] for number in range(10)}
    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(use, number, calls, results)
    for number, of in results.items():
        elapsed = sorted(result.elapsed * 1000 for result in of)
        outcomes = ", ".join(f"{name} {count}" for name, count in sorted(Counter(r.outcome.value for r in of).items()))
        middle, most = elapsed[len(elapsed) // 2], elapsed[-1]
        print(f"c{number} {TOOLS.get(number, 'echo'):<5} median {middle:9.2f} ms  most {most:9.2f} ms  {outcomes}")
    lost = sum(not result.ok for number, of in results.items() if number not in TOOLS for result in of)
    print(f"{sum(map(len, results.values()))} calls; the healthy eight lost {lost}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100, help="calls a connector")
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    chosen = parser.parse_args()
    anyio.run(main, chosen.calls, backend=chosen.backend)
