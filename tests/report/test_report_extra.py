"""Without the extra: one sentence. This file runs with and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = ("duckdb", "jinja2", "numpy", "rich", "scipy")


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_without_the_extra_there_is_one_sentence_and_exit_code_2() -> None:
    block = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"
    done = run(
        block + "import argparse\nfrom otel_mcp._report.command import add_arguments, run\n"
        "parser = argparse.ArgumentParser()\nadd_arguments(parser)\nsys.exit(run(parser.parse_args(['calls.jsonl'])))"
    )
    assert done.returncode == 2
    assert done.stderr == "otel-mcp report needs the extra `report`: pip install 'otel-mcp-client[report]'\n"
    assert done.stdout == ""


def test_declaring_the_command_and_simulating_load_nothing_heavy() -> None:
    done = run(
        "import sys, otel_mcp._report.command, otel_mcp._report.simulate, otel_mcp\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert done.stdout == "[]\n", done.stderr
