"""Hosts without an adapter: named by `OTEL_MCP_CONNECTORS`, seen by the SDK layer alone. One scenario for all of them.

async def story(servers: Servers) -> list[Told]: ...      # the host's own way to call each of ENDS

@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(5.0, "sdk"))
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harness.servers import Servers
from harness.telling import told, told_at_once
from harness.watching import watching

RULE = "odoo=*otel_mcp._demo.faulty*"
ENDS = {"echo": "ok", "reject": "tool_error", "hang": "deadline", "die": "disconnected"}
"""Tools of the misbehaving server, in the order in which a story calls them, and how such a call ends."""
ARGUMENTS = {"echo": {"text": "hello"}}
SIGNALS = ("name by a rule", "ok", "tool error", "server death", "deadline", "limit and its source")

Told = tuple[str, str]
Story = Callable[[Servers], Any]
"""What the program is told of each call; a coroutine function or a function."""


async def heard(call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> list[Told]:
    """Each tool called through the host."""
    return [await told(lambda tool=tool: call(tool, ARGUMENTS.get(tool, {}))) for tool in ENDS]


def heard_at_once(call: Callable[[str, dict[str, Any]], Any], *, without: str = "") -> list[Told]:
    """``heard`` for a host that blocks its caller; ``without`` is a tool that would block it for ever."""
    return [told_at_once(lambda tool=tool: call(tool, ARGUMENTS.get(tool, {}))) for tool in ENDS if tool not in without]


def ends_are_told_apart(
    story: Story, servers: Servers, folder: Path, *, limit: tuple[float, str] | None, without: str = ""
) -> None:
    """Name, tool, outcome and attempts of each call; limit and source of the one that ran out of time."""
    with watching(folder / "ruled.jsonl", OTEL_MCP_CONNECTORS=RULE) as seen:
        _run(story, servers)
        calls = seen.lines("call")
    assert [(call["connector"], call["tool"], call["outcome"], call["attempts"]) for call in calls] == [
        ("odoo", tool, outcome, 1) for tool, outcome in ENDS.items() if tool not in without
    ]
    timed_out = [(call["limit"], call["limit_source"]) for call in calls if call["outcome"] == "deadline"]
    assert timed_out == ([limit] if limit else [])
    assert {line["connector"] for line in seen.lines("connect")} == {"odoo"}


def the_program_is_told_the_same(story: Story, servers: Servers, folder: Path) -> None:
    """Results and exceptions of each call, with us and without us."""
    before = _run(story, servers)
    with watching(folder / "log.jsonl"):
        during = _run(story, servers)
    assert during == before


def _run(story: Story, servers: Servers) -> list[Told]:
    heard = story(servers)
    return asyncio.run(heard) if inspect.iscoroutine(heard) else heard
