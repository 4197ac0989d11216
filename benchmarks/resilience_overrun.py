"""How far calls overrun their deadline, as a distribution.

    python benchmarks/resilience_overrun.py [--calls 1000] [--backend trio] [--busy]

Every call is cut off: the callee never answers. Measured is the time from asking to having the result, less the
deadline. Two callees: one that obeys its cancellation and one that swallows it, which is left behind after 0.05 s.
``--busy`` blocks the event loop for 20 ms at a time, ten times a second, as a host does that parses a large answer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Awaitable, Callable

import anyio

from otel_mcp.resilience import Outcome, call_with_deadline

DEADLINE = 0.1
AT_ONCE = 50


async def obedient() -> None:
    await anyio.sleep_forever()


async def stubborn() -> None:
    """Works on for a moment after it was cancelled, as a callee does that cleans up at length."""
    stop = anyio.current_time() + 3 * DEADLINE
    with anyio.CancelScope(shield=True):
        while anyio.current_time() < stop:
            try:
                await anyio.sleep_until(stop)
            except BaseException:  # noqa: S112 - this is what the callee is about
                continue


async def hog() -> None:
    while True:
        await anyio.sleep(0.08)
        time.sleep(0.02)  # noqa: ASYNC251 - blocking the loop is what this is for


async def measure(callee: Callable[[], Awaitable[None]], calls: int, busy: bool) -> list[float]:
    overruns: list[float] = []
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def one() -> None:
        async with limiter:
            began = time.perf_counter()
            result = await call_with_deadline(callee, DEADLINE)
            assert result.outcome is Outcome.DEADLINE
            overruns.append(time.perf_counter() - began - DEADLINE)

    async with anyio.create_task_group() as background:
        if busy:
            background.start_soon(hog)
        async with anyio.create_task_group() as group:
            for _ in range(calls):
                group.start_soon(one)
        background.cancel_scope.cancel()
    return sorted(overruns)


def report(name: str, overruns: list[float]) -> None:
    def at(share: float) -> str:
        return f"{overruns[min(len(overruns) - 1, int(share * len(overruns)))] * 1000:8.2f}"

    print(f"{name:<10} {at(0)} {at(0.5)} {at(0.9)} {at(0.99)} {at(0.999)} {at(1)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument("--busy", action="store_true")
    chosen = parser.parse_args()
    print(f"overrun of a deadline of {DEADLINE * 1000:g} ms, {AT_ONCE} calls at once, {chosen.backend}, milliseconds")
    print(f"{'callee':<10} {'least':>8} {'p50':>8} {'p90':>8} {'p99':>8} {'p99.9':>8} {'most':>8}")
    for callee in (obedient, stubborn):
        report(callee.__name__, anyio.run(measure, callee, chosen.calls, chosen.busy, backend=chosen.backend))


if __name__ == "__main__":
    main()
