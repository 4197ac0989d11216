"""What the suite runs on."""

from __future__ import annotations

import os

from harness.children import run_script
from harness.package import INSTALLED


def test_make_test_runs_on_the_installed_wheel_and_not_on_the_source_tree() -> None:
    if os.environ.get("OTEL_MCP_TESTS_ON") == "wheel":
        assert INSTALLED


def test_the_servers_start_without_the_sdk_and_without_opentelemetry() -> None:
    code = """if True:
        import sys
        import otel_mcp._demo.faulty
        print({"mcp", "opentelemetry.sdk", "pydantic"} & sys.modules.keys() or "none of them")
    """
    assert run_script(code).stdout == "none of them\n"
