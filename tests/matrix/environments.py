"""Virtual environments below ``.envs``, made once and kept until what they consist of changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path

from matrix.table import Environment

ROOT = Path(__file__).resolve().parents[2]
ENVS = ROOT / ".envs"
REQUIREMENTS = ROOT / "tests" / "requirements"
_STAMP = "contents.sha256"
_COMPILE = """
import compileall, re, sysconfig
compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2, rx=re.compile(r"[/\\\\]tests[/\\\\]"))
"""
"""As pip does after it has installed, but for the tests of scipy and numpy: a third of all there is."""
_making_pip = threading.Lock()


def program(folder: Path, name: str) -> str:
    """The path of a program in an environment."""
    return str(folder / "bin" / name)


def build_wheel(interpreter: str) -> Path:
    """The wheel of the tree as it is now, built afresh."""
    folder = ENVS / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run([*_pip(interpreter), "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def prepare_for_tests(environment: Environment, interpreter: str, wheel: Path) -> Path:
    """The environment's folder, with ``wheel`` and everything its suites need installed."""
    extras = "instruments,demo,resilience" + (",report" if environment.whole else "")
    requirements = REQUIREMENTS / ("whole.txt" if environment.whole else "base.txt")
    wanted = [f"mcp=={environment.sdk}.*", "-r", str(requirements), f"{wheel}[{extras}]"]
    return prepare(ENVS / environment.name, interpreter, wanted, wheel)


def prepare(folder: Path, interpreter: str, wanted: list[str], wheel: Path | None = None) -> Path:
    """A virtual environment with ``wanted``, kept if it was made from the same words, files and interpreter.

    ``wheel``, one of them, is installed into a kept one again: its version stays the same while the code changes, so
    pip would keep what it has.
    """
    contents = _fingerprint([interpreter, *wanted])
    stamp = folder / _STAMP
    if stamp.exists() and stamp.read_text() == contents:
        if wheel is not None:
            pip(folder, ["--force-reinstall", "--no-deps", str(wheel)])
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    run([interpreter, "-m", "venv", "--without-pip", str(folder)])
    pip(folder, ["--no-compile", *wanted])
    run([program(folder, "python"), "-c", _COMPILE])
    stamp.write_text(contents)
    return folder


def pip(folder: Path, wanted: list[str]) -> None:
    run([*pip_of(folder), "install", "--quiet", *wanted])


def pip_of(folder: Path) -> list[str]:
    """The command that works on an environment."""
    python = program(folder, "python")
    return [*_pip(python), "--python", python]


def _pip(interpreter: str) -> list[str]:
    """The one pip that fills every environment: to make and renew another in each takes longer than to fill it."""
    folder = ENVS / "pip"
    python = Path(program(folder, "python"))
    with _making_pip:
        if not (folder / _STAMP).exists() or not python.exists():
            shutil.rmtree(folder, ignore_errors=True)
            run([interpreter, "-m", "venv", str(folder)])
            run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "pip"])
            (folder / _STAMP).touch()
    return [str(python), "-m", "pip", "--disable-pip-version-check"]


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
