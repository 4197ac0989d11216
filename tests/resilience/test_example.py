"""The nightly job of examples/unattended, as the process that a scheduler starts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.package import environment

NIGHTLY = Path(__file__).parents[2] / "examples" / "unattended" / "nightly.py"
RUN = 20.0


def nightly(fault: str, folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, str(NIGHTLY), "--fault", fault, "--run", str(RUN), "--step", "0.5"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
        cwd=folder,
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.promise("run-ends-on-time", "one-record-a-call")
def test_a_healthy_night_is_ten_ok_lines(tmp_path: Path) -> None:
    code, lines = nightly("none", tmp_path)

    assert code == 0
    assert [line[28:30] for line in lines[:10]] == ["ok"] * 10
    assert lines[10] == "10 steps, 10 ok, 0 required failed"


@pytest.mark.promise("run-ends-on-time", "healthy-lose-nothing", "open-is-the-steps-choice")
@pytest.mark.parametrize("fault", ["hang", "die", "absent"])
def test_a_night_with_one_bad_connector_ends_with_the_other_steps_done(fault: str, tmp_path: Path) -> None:
    began = time.monotonic()
    code, lines = nightly(fault, tmp_path)
    took = time.monotonic() - began

    assert code == 0
    assert lines[10] == "10 steps, 6 ok, 0 required failed"
    assert all("mail" in line for line in lines[:10] if " ok " not in line)
    # The bound is the promise itself: the run's budget, the prompt close, and what a loaded machine needs to start.
    assert took < RUN + 30
    # Its servers inherit the folder that the job runs in, and no other program runs there.
    assert not [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(tmp_path)]
