# requires: mcp-haystack==2.1.1
# requires: mcp==2.3.0
# python: 3.12
"""mcp-haystack has no adapter: its tools call from a thread of their own, with a limit around each call."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack_integrations.tools.mcp", reason="mcp-haystack is not installed")

from pathlib import Path
from typing import Any

from haystack_integrations.tools.mcp import MCPTool, StdioServerInfo
from haystack_integrations.tools.mcp.mcp_tool import AsyncExecutor

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard_at_once, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    info = StdioServerInfo(command=target.command, args=list(target.args), env=target.env)

    def call(name: str, given: dict[str, Any]) -> Any:
        tool = MCPTool(name=name, server_info=info, connection_timeout=30, invocation_timeout=2)
        try:
            if name != "hang":
                return tool.invoke(**given)
            # `invoke` sets two clocks of that length, in two threads, and either may be first; `ainvoke` sets one.
            tool.warm_up()  # would wait for its own loop inside of it
            return AsyncExecutor.get_instance().run(tool.ainvoke(**given))
        finally:
            tool.close()

    return heard_at_once(call)


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(2.0, "caller"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
