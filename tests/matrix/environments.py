"""Virtual environments below ``.envs``, made once and kept until what they consist of changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from matrix.table import Environment

ROOT = Path(__file__).resolve().parents[2]
ENVS = ROOT / ".envs"
REQUIREMENTS = ROOT / "tests" / "requirements"
_STAMP = "contents.sha256"


def program(folder: Path, name: str) -> str:
    """The path of a program in an environment."""
    return str(folder / "bin" / name)


def build_wheel(interpreter: str) -> Path:
    """The wheel of the tree as it is now, built afresh."""
    folder = ENVS / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    tools = prepare(ENVS / "build", interpreter, ["build"])
    run([program(tools, "python"), "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def prepare_for_tests(environment: Environment, interpreter: str, wheel: Path) -> Path:
    """The environment's folder, with ``wheel`` and everything its suites need installed."""
    extras = "instruments,demo,resilience" + (",report" if environment.whole else "")
    requirements = REQUIREMENTS / ("whole.txt" if environment.whole else "base.txt")
    wanted = [f"mcp=={environment.sdk}.*", "-r", str(requirements), f"{wheel}[{extras}]"]
    folder = prepare(ENVS / environment.name, interpreter, wanted)
    # The version stays the same while the code changes, so pip would keep what it has.
    pip(folder, ["--force-reinstall", "--no-deps", str(wheel)])
    return folder


def prepare(folder: Path, interpreter: str, wanted: list[str]) -> Path:
    """A virtual environment with ``wanted``, kept if it was made from the same words, files and interpreter."""
    contents = _fingerprint([interpreter, *wanted])
    stamp = folder / _STAMP
    if stamp.exists() and stamp.read_text() == contents:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    run([interpreter, "-m", "venv", str(folder)])
    pip(folder, ["--upgrade", "pip"])
    pip(folder, wanted)
    stamp.write_text(contents)
    return folder


def pip(folder: Path, wanted: list[str]) -> None:
    run([program(folder, "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])


def run(command: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; what it printed is in the answer.

    Raises:
        subprocess.CalledProcessError: with what it printed, if it failed.
    """
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([*command], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=clean)


def _fingerprint(words: list[str]) -> str:
    project = (ROOT / "pyproject.toml").read_text().partition("\n[tool.")[0]  # settings of tools change no environment
    files = [file.read_text() for file in sorted(REQUIREMENTS.glob("*.txt"))]
    return hashlib.sha256("\n".join([*words, project, *files]).encode()).hexdigest()
