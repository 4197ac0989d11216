"""The samples of docs/resilience run, and the defaults it explains are the code's."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import otel_mcp.resilience as public
from otel_mcp.resilience import CircuitBreaker, Connector, ReconnectPolicy, RetryPolicy

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "resilience").glob("*.md"))
SAMPLES = [
    pytest.param(sample, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, sample in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_of_the_documentation_runs(sample: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", sample],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_every_default_is_explained_with_the_value_the_code_has() -> None:
    page = (ROOT / "docs" / "resilience" / "defaults.md").read_text(encoding="utf-8")
    explained = dict(re.findall(r"^\| `(?:\w+\.)?(\w+)`[^|]*\| ([\d.]+)(?: s)?[^|]*\|", page, re.MULTILINE))
    code = {f.name: f.default for kind in (RetryPolicy, ReconnectPolicy) for f in dataclasses.fields(kind)}
    for kind in (CircuitBreaker, Connector):
        code |= {p.name: p.default for p in inspect.signature(kind).parameters.values()}

    assert explained
    for name, value in explained.items():
        wanted = {float(code[name])} | ({ReconnectPolicy.base} if name == "base" else set())
        assert float(value) in wanted, name


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert public.__all__ == sorted(public.__all__)
    assert all(hasattr(public, name) for name in public.__all__)
    defined = {n for n, v in vars(public).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert defined == set(public.__all__)


@pytest.mark.parametrize("name", public.__all__)
def test_a_public_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(public, name))
