"""``PYTHONPATH=tests python -m bounds lowest|newest [--pytest=ARGUMENTS]``; ``make test-lowest`` and ``test-newest``.

``lowest``: the oldest Python at hand with the lowest version of each dependency that ``pyproject.toml`` allows, worked
out by uv, and two environments below that, in which programs have to run as they do without us. ``newest``: the newest
Python at hand with what ``pip install --upgrade`` gives today.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from matrix import pythons, results
from matrix.environments import ENVS, REQUIREMENTS, ROOT, build_wheel, pip, pip_of, prepare, program, run

EXTRAS = ("instruments", "report", "resilience")  # the demo needs a newer mcp and has an environment of its own
SUITES = (
    "bounds", "hooks", "outcomes", "report", "resilience", "scenarios", "sdk", "start", "unchanged",
)  # fmt: skip
WORKERS = 4
TOO_OLD = {
    "mcp": ["mcp==1.10.*", "pydantic<2.14"],
    "opentelemetry": ["mcp==1.30.*", "opentelemetry-api==1.10.0", "opentelemetry-sdk==1.10.0", "setuptools<80"],
    "none": ["mcp==1.30.*"],
}
"""What stands in for the package that is too old, or for OpenTelemetry itself, which our wheel would bring."""


def main() -> int:
    """0 if nothing failed, 1 if something did, 2 if it could not begin."""
    parser = argparse.ArgumentParser(prog="bounds")
    parser.add_argument("bound", choices=["lowest", "newest"])
    parser.add_argument("--pytest", default="", help="arguments for pytest, in one word")
    given = parser.parse_args()
    interpreters = pythons.at_hand()
    if not interpreters:
        print("No Python 3.10 to 3.13 with venv found; on Debian: apt-get install python3-venv", file=sys.stderr)
        return 2
    oldest, newest = interpreters[min(interpreters)], interpreters[max(interpreters)]
    started = time.monotonic()
    try:
        wheel = build_wheel(newest)
        if given.bound == "lowest":
            folder, variables = _lowest(oldest, wheel), _too_old(newest, wheel)
        else:
            folder, variables = _newest(newest, wheel), {}
    except subprocess.CalledProcessError as broken:
        print(broken.stdout, broken.stderr, f"failed: {' '.join(map(str, broken.cmd))}", sep="\n", file=sys.stderr)
        return 2
    run([*pip_of(folder), "check"])
    suites = [suite for suite in SUITES if variables or suite != "bounds"]
    result = _pytest(given.bound, folder, suites, variables, given.pytest.split(), started)
    print(results.summary([result]))
    return int(result.failed > 0)


def _lowest(interpreter: str, wheel: Path) -> Path:
    wanted = [*_pins(interpreter), "-r", str(REQUIREMENTS / "base.txt"), "-c", str(REQUIREMENTS / "lowest.txt")]
    folder = prepare(ENVS / "lowest", interpreter, wanted)
    pip(folder, ["--force-reinstall", "--no-deps", str(wheel)])
    return folder


def _pins(interpreter: str) -> list[str]:
    """``name==version`` of everything, the direct dependencies as low as they may be."""
    uv = program(prepare(ENVS / "uv", interpreter, ["uv"]), "uv")
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--resolution", "lowest-direct"]
    extras = [f"--extra={extra}" for extra in EXTRAS]
    constraints = f"--constraints={REQUIREMENTS / 'lowest.txt'}"
    done = run([*command, *extras, constraints, "--python", interpreter, str(ROOT / "pyproject.toml")])
    pins = done.stdout.split()
    print("the lowest versions:", *(pin for pin in pins if pin.startswith(("mcp=", "opentelemetry", "wrapt"))))
    return pins


def _too_old(interpreter: str, wheel: Path) -> dict[str, str]:
    """The interpreters of the environments below the bounds, as variables for the suite."""
    variables = {}
    for name, wanted in TOO_OLD.items():
        folder = prepare(ENVS / f"too-old-{name}", interpreter, [*wanted, "wrapt"])
        ours = [str(wheel)] if name == "mcp" else ["--no-deps", str(wheel)]
        pip(folder, ["--force-reinstall", *ours, *(wanted if name == "mcp" else ())])
        variables[f"TOO_OLD_{name.upper()}"] = program(folder, "python")
    return variables


def _newest(interpreter: str, wheel: Path) -> Path:
    wanted = [f"{wheel}[{','.join(EXTRAS)}]", "-r", str(REQUIREMENTS / "base.txt")]
    folder = prepare(ENVS / "newest", interpreter, wanted)
    pip(folder, ["--upgrade", "--upgrade-strategy", "eager", *wanted])
    pip(folder, ["--force-reinstall", "--no-deps", str(wheel)])
    names = ["mcp", "opentelemetry-sdk", "opentelemetry-exporter-prometheus", "wrapt"]
    done = run([*pip_of(folder), "list", "--format=freeze"])
    print("the newest versions:", *(line for line in done.stdout.split() if line.split("==")[0] in names))
    return folder


def _pytest(
    name: str, folder: Path, suites: list[str], variables: dict[str, str], extra: list[str], started: float
) -> results.Result:
    report = ENVS / f"{name}.xml"
    report.unlink(missing_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    options = ["--quiet", f"--junitxml={report}", "--numprocesses", str(WORKERS), "--dist", "loadgroup"]
    command = [program(folder, "pytest"), *options, *(f"tests/{suite}" for suite in suites), *extra]
    code = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**clean, **variables, "OTEL_MCP_TESTS_ON": "wheel"},
    ).returncode
    return results.read(name, report, code, time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
