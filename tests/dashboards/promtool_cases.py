"""promtool on rules and cases, and its notation of a series."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

from prometheus_process import required

from dashboards import build

RULES = build.BUILT / "rules"


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run([required("promtool"), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counter(amounts: list[int]) -> str:
    """A counter from 0 that grows by these amounts, run by run."""
    text, value = ["0"], 0
    for step, run in itertools.groupby(amounts):
        length = len(list(run))
        text.append(f"{value + step}+{step}x{length - 1}")
        value += step * length
    return " ".join(text)
