"""What every subcommand of `otel-mcp` owes to whoever reads its output."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harness.package import environment


@pytest.mark.parametrize("words", [["--help"], ["top", "--help"]], ids=" ".join)
def test_a_reader_that_goes_away_is_no_fault_of_any_command(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in environment().items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "otel_mcp", *words], stdout=writing, stderr=subprocess.PIPE, text=True, env=buffered
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
