"""A nightly job of ten steps over three MCP servers that ends on time whatever one of them does."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import StdioServerParameters

from otel_mcp.resilience import CallResult, CircuitBreaker, Connector, Outcome, ReconnectPolicy, RetryPolicy

SERVER = str(Path(__file__).parent / "server.py")


@dataclass(frozen=True)
class Step:
    """One step: which connector it needs, what it calls, and what its failure means."""

    name: str
    needs: str
    tool: str
    reads: bool = True
    """Reading may be repeated; a write only with a key that the server recognises."""
    key: str | None = None
    required: bool = True


STEPS = (
    Step("fetch orders", "shop", "fetch"),
    Step("fetch stock", "shop", "fetch"),
    Step("search complaints", "mail", "search", required=False),
    Step("search invoices", "mail", "search", required=False),
    Step("fetch prices", "shop", "fetch"),
    Step("store orders", "archive", "store", reads=False, key="orders-2026-11-30"),
    Step("store stock", "archive", "store", reads=False, key="stock-2026-11-30"),
    Step("send digest", "mail", "send", reads=False, required=False),
    Step("store prices", "archive", "store", reads=False, key="prices-2026-11-30"),
    Step("send receipts", "mail", "send", reads=False, required=False),
)


@dataclass(frozen=True)
class Limits:
    """Seconds. The run's budget is longer than a step's deadline: the inner limit has to fire first."""

    run: float
    step: float


def connectors(limits: Limits, mail_fault: str) -> list[Connector]:
    """The three servers; a breaker of two strikes each, so that a dead one costs at most two deadlines."""
    made = []
    for name, fault in (("shop", "none"), ("mail", mail_fault), ("archive", "none")):
        made.append(
            Connector(
                name,
                StdioServerParameters(command=sys.executable, args=[SERVER, fault]),
                deadline=limits.step,
                policy=RetryPolicy(base=limits.step / 10, quiet_time=limits.step / 10),
                breaker=CircuitBreaker(name, threshold=2, cooldown=limits.run / 2, run_budget=limits.run),
                reconnect=ReconnectPolicy(base=limits.step / 10, attempts=2),
                connect_timeout=limits.step,
            )
        )
    return made


async def run_step(step: Step, by_name: Mapping[str, Connector], ends: float, deadline: float) -> CallResult | None:
    """The step's result; None if the run's budget has no room for it."""
    if anyio.current_time() + deadline >= ends:
        return None
    arguments: dict[str, Any] = {"step": step.name}
    return await by_name[step.needs].call_tool(step.tool, arguments, idempotent=step.reads, idempotency_key=step.key)


def line(step: Step, result: CallResult | None) -> str:
    """One line of the summary."""
    if result is None:
        return f"{step.name:<18} {step.needs:<8} skipped   no time left in the run's budget"
    facts = f"{result.bucket:<9} {result.elapsed:6.2f} s  attempts {result.attempts}  breaker {result.breaker}"
    return f"{step.name:<18} {step.needs:<8} {facts}  {result.detail}".rstrip()


async def main(limits: Limits, fault: str) -> int:
    ends = anyio.current_time() + limits.run
    async with AsyncExitStack() as stack:
        by_name = {}
        for connector in connectors(limits, fault):
            by_name[connector.name] = await stack.enter_async_context(connector)
        results = [(step, await run_step(step, by_name, ends, limits.step)) for step in STEPS]
    for step, result in results:
        print(line(step, result))
    failed = [s for s, r in results if s.required and (r is None or r.outcome is not Outcome.OK)]
    well = sum(1 for _, result in results if result is not None and result.ok)
    print(f"{len(results)} steps, {well} ok, {len(failed)} required failed")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", choices=["none", "hang", "die", "absent"], default="none")
    parser.add_argument("--run", type=float, default=30.0, help="seconds that the whole run may take")
    parser.add_argument("--step", type=float, default=2.0, help="seconds that one attempt of a step may take")
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    raise SystemExit(anyio.run(main, Limits(chosen.run, chosen.step), chosen.fault))
