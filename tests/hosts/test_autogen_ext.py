# requires: autogen-ext==0.7.5
# requires: autogen-core
# requires: httpx
# requires: json-schema-to-pydantic
# requires: mcp==1.30.0
# python: 3.12
"""autogen-ext has no adapter: its workbench calls in the task of its caller."""

from __future__ import annotations

import pytest

pytest.importorskip("autogen_ext.tools.mcp", reason="autogen-ext is not installed")

import contextlib
from pathlib import Path

from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from harness.ruled import SIGNALS, Told, ends_are_told_apart, heard, the_program_is_told_the_same
from harness.servers import Servers
from harness.signals import shows

pytestmark = pytest.mark.filterwarnings("ignore")


async def story(servers: Servers) -> list[Told]:
    target = servers.stdio().target
    params = StdioServerParams(command=target.command, args=list(target.args), env=target.env, read_timeout_seconds=5)
    workbench = McpWorkbench(params)
    await workbench.start()
    told = await heard(workbench.call_tool)
    with contextlib.suppress(Exception):  # its server is dead
        await workbench.stop()
    return told


@shows(*SIGNALS)
def test_the_sdk_layer_tells_the_ends_of_calls_apart(servers: Servers, tmp_path: Path) -> None:
    ends_are_told_apart(story, servers, tmp_path, limit=(5.0, "sdk"))


@shows("told the same")
def test_the_program_is_told_the_same_with_and_without_us(servers: Servers, tmp_path: Path) -> None:
    the_program_is_told_the_same(story, servers, tmp_path)
