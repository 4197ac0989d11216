"""A program run without us, then watched as its operator would: endpoint, call log and `otel-mcp top`.

The watched run starts and stops the real thing: providers, endpoint on a free port, call log, watcher thread.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import otel_mcp
from harness.children import read_jsonl
from harness.metrics import Scrape, scrape
from harness.observing import Hung, Program, bounded, described
from harness.real_parts import free_port
from harness.sessions import innermost
from otel_mcp._cli.main import main as command
from otel_mcp._ledger.ledger import ledger
from otel_mcp._start import runtime

STILL_WAITING = 0.2
_PAUSE = 0.03
_LONG_ENOUGH = 25.0


@dataclass
class Operator:
    """What somebody beside the program can see."""

    url: str
    log: Path

    def scrape(self) -> Scrape:
        return scrape(self.url)

    def records(self, event: str) -> list[dict[str, Any]]:
        return [line for line in read_jsonl(self.log) if line["event"] == event]

    def calls(self, tool: str | None = None) -> list[dict[str, Any]]:
        return [line for line in self.records("call") if tool is None or line["tool"] == tool]

    def top(self, source: str | Path) -> list[dict[str, Any]]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            assert command(["top", str(source), "--json"]) == 0
        rows: list[dict[str, Any]] = json.loads(output.getvalue())["open"]
        return rows


@dataclass
class Hanging:
    """What all three sources say of one open call or request."""

    metrics: Scrape
    records: list[dict[str, Any]]
    top: list[dict[str, Any]]
    """From the endpoint."""
    top_log: list[dict[str, Any]]
    """From the call log."""


Look = Callable[["Operator"], Any]
See = Callable[[Look], Awaitable[Any]]
Scenario = Callable[[Program, See], Awaitable[None]]


class Watched:
    """Runs scenarios both ways."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._environment = monkeypatch

    def run(
        self,
        scenario: Scenario,
        backend: str = "asyncio",
        again: Callable[[], Any] | None = None,
        **variables: str,
    ) -> Operator:
        """What the operator can still see after the end. Raises AssertionError if the program saw a difference.

        `again` brings a server that counts its faults back to its beginning, between the two runs.
        """
        plain = _run(scenario, _blind, backend)
        if again is not None:
            again()
        with self._started(variables) as operator:
            watched = _run(scenario, _seeing(operator), backend)
            assert watched == plain, f"without us {plain}, with us {watched}"
            after = operator.scrape()
        operator.scrape = lambda: after  # type: ignore[method-assign] # the endpoint is closed by now
        return operator

    @contextlib.contextmanager
    def _started(self, variables: dict[str, str]) -> Iterator[Operator]:
        port, log = free_port(), self._folder / "calls.jsonl"
        for name, value in {
            "OTEL_MCP_CALL_LOG": str(log),
            "OTEL_MCP_STILL_WAITING": str(STILL_WAITING),
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(port),
            **variables,
        }.items():
            self._environment.setenv(name, value)
        ledger.reset()
        otel_mcp.instrument()
        try:
            runtime.ensure_started()
            yield Operator(f"http://127.0.0.1:{port}/metrics", log)
        finally:
            otel_mcp.uninstrument()
            ledger.reset()


def _run(scenario: Scenario, see: See, backend: str) -> list[Any]:
    program = Program()

    async def main() -> None:
        try:
            await scenario(program, see)
        except (Hung, AssertionError):
            raise
        except BaseException as error:
            program.saw.append(("left", *described(innermost(error))))

    with bounded():
        anyio.run(main, backend=backend)
    return program.saw


async def _blind(look: Look) -> None:
    await anyio.sleep(0.8)  # what is looked for in the watched run has happened by then here too


def _seeing(operator: Operator) -> See:
    async def see(look: Look) -> Any:
        """The first truthy value of `look`, asked from another thread while the program goes on."""
        found: Any = None
        problem: Exception | None = None
        with anyio.move_on_after(_LONG_ENOUGH):
            while not found:
                try:
                    found = await anyio.to_thread.run_sync(look, operator)
                except (AssertionError, OSError, KeyError) as error:
                    problem = error
                if not found:
                    await anyio.sleep(_PAUSE)
        if not found:
            raise AssertionError(f"the signal never came: {problem!r}")
        return found

    return see


def hanging(
    connector: str, *, phase: str | None, method: str = "tools/call", tool: str | None = None, **record: Any
) -> Look:
    """A look that is satisfied once endpoint, call log and both forms of `top` show this open call or request."""

    def look(operator: Operator) -> Hanging | None:
        records = [
            line
            for line in operator.records("still_waiting")
            if line["connector"] == connector
            and line["method"] == method
            and line["tool"] == tool
            and (phase is None or line["phase"] == phase)
            and all(line[name] == value for name, value in record.items())
        ]
        if not records:
            return None  # it comes last, and to look for it takes the least
        metrics = operator.scrape()
        labels = {"otel_mcp_connector": connector, "mcp_method_name": method}
        active = metrics.total("otel_mcp_client_request_active", **labels)
        age = metrics.total("otel_mcp_client_request_oldest_age_seconds", **labels)
        if phase is not None and method == "tools/call":
            age = metrics.total(
                "otel_mcp_client_call_oldest_age_seconds", otel_mcp_connector=connector, otel_mcp_phase=phase
            )
            active = max(active, 1)
        top = [row for row in operator.top(operator.url) if row["connector"] == connector]
        top_log = [row for row in operator.top(operator.log) if (row["method"], row["tool"]) == (method, tool)]
        if active > 0 and age > 0 and top and top_log:
            return Hanging(metrics, records, top, top_log)
        return None

    return look


def strikes(seen: Operator, connector: str) -> dict[str, float]:
    """What was held against a connector's breaker, by cause."""
    points = seen.scrape().matching("otel_mcp_client_breaker_strikes_total", otel_mcp_connector=connector)
    return {point.labels["otel_mcp_breaker_cause"]: point.value for point in points if point.value}
