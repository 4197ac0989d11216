"""``PYTHONPATH=tests python -m matrix [--full | --check] [-- PYTEST ARGUMENTS]``; ``make test`` calls it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from matrix import pythons, results, table
from matrix.environments import ENVS, REQUIREMENTS, ROOT, build_wheel, prepare, prepare_for_tests, program

# Most tests wait for a process most of the time, so more workers than processors pay.
WORKERS = 4
NOTHING_COLLECTED = 5  # pytest's exit code
MOST_DISTURBED = 8
"""More failures than this are no disturbance, and are not tried again."""


def main() -> int:
    """0 if nothing failed, 1 if something did, 2 if it could not begin."""
    parser = argparse.ArgumentParser(prog="matrix")
    parser.add_argument("--full", action="store_true", help="every Python with every SDK")
    parser.add_argument("--check", action="store_true", help="ruff and mypy only")
    parser.add_argument("--ends", action="store_true", help="the environments that run everything only")
    parser.add_argument("--only", help="environments whose name contains this")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    given = parser.parse_args()
    interpreters = pythons.at_hand()
    if not interpreters:
        print("No Python 3.10 to 3.13 with venv found; on Debian: apt-get install python3-venv", file=sys.stderr)
        return 2
    versions = list(interpreters)
    chosen = table.full(versions) if given.full else table.quick(versions[0], versions[-1])
    chosen = [environment for environment in chosen if (given.only or "") in environment.name]
    chosen = [environment for environment in chosen if environment.whole or not given.ends]
    if given.check:
        chosen = [environment for environment in chosen if environment.sdk == "2.3"][:1]
    try:
        collected = _all(chosen, interpreters, given)
    except subprocess.CalledProcessError as broken:
        print(broken.stdout, broken.stderr, sep="\n", file=sys.stderr)
        print(f"failed: {' '.join(map(str, broken.cmd))}", file=sys.stderr)
        return 2
    print(results.summary(collected))
    return int(any(result.failed for result in collected))


def _all(
    chosen: list[table.Environment], interpreters: dict[tuple[int, int], str], given: argparse.Namespace
) -> list[results.Result]:
    newest = interpreters[max(interpreters)]
    wheel = build_wheel(newest)
    _say(f"built {wheel.name}; preparing {', '.join(environment.name for environment in chosen)}")
    collected = []
    with ThreadPoolExecutor(max_workers=2) as pool:  # the later environments are made while the first is tested
        tools = pool.submit(prepare, ENVS / "check", newest, ["-r", str(REQUIREMENTS / "check.txt")])
        folders = [pool.submit(prepare_for_tests, one, interpreters[one.python], wheel) for one in chosen]
        typed = next((i for i, one in enumerate(chosen) if one.sdk == "2.3"), 0)
        if not (given.only or given.ends):
            collected.append(_checks(tools.result(), folders[typed].result()))
        if not given.check:
            for environment, folder in zip(chosen, folders, strict=True):
                first = environment is chosen[0]
                collected.append(_pytest(environment, folder.result(), given.pytest, first=first))
    return collected


def _checks(tools: Path, environment: Path) -> results.Result:
    """ruff, and mypy in strict mode against the libraries of ``environment``."""
    python = program(environment, "python")
    started = time.monotonic()
    commands = [
        [program(tools, "ruff"), "check", "."],
        [program(tools, "ruff"), "format", "--check", "."],
        [program(tools, "mypy"), "--python-executable", python],
    ]
    codes = [_stream(command) for command in commands]
    failed = sum(code != 0 for code in codes)
    return results.Result("check", len(codes) - failed, failed, seconds=time.monotonic() - started)


def _pytest(environment: table.Environment, folder: Path, extra: list[str], *, first: bool) -> results.Result:
    report = ENVS / f"{environment.name}.xml"
    report.unlink(missing_ok=True)
    only_whole = table.INDEPENDENT_OF_THE_SDK | table.AT_THE_FAR_ENDS
    only_first = frozenset() if first else table.ONCE
    left_out = sorted((frozenset() if environment.whole else only_whole) | only_first | set(table.ELSEWHERE))
    options = [f"--ignore=tests/{name}" for name in left_out if (ROOT / "tests" / name).exists()]
    _say(environment.name)
    started = time.monotonic()
    # The console script, not `python -m pytest`: that would put the source tree before the installed wheel.
    spread = ["--numprocesses", str(WORKERS), "--dist", "loadgroup"]
    code = _stream([program(folder, "pytest"), "--quiet", f"--junitxml={report}", *spread, *options, *extra])
    if code == NOTHING_COLLECTED and extra:
        code = 0  # what was asked for does not run in this environment
    result = results.read(environment.name, report, code, time.monotonic() - started)
    if 0 < len(result.broken) <= MOST_DISTURBED and result.failed == len(result.broken):
        result.settle(_again(environment, folder, result.broken))
    return result


def _again(environment: table.Environment, folder: Path, nodes: list[str]) -> results.Result:
    """The failed tests once more, one after another: many meet real processes, and a busy machine disturbs a few."""
    _say(f"{environment.name}, once more by themselves: {len(nodes)}")
    report = ENVS / f"{environment.name}.again.xml"
    report.unlink(missing_ok=True)
    code = _stream([program(folder, "pytest"), "--quiet", f"--junitxml={report}", *nodes])
    result = results.read(environment.name, report, code, 0.0)
    return result if report.exists() and code in {0, 1} else results.Result(environment.name, broken=nodes)


def _stream(command: list[str]) -> int:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    clean["OTEL_MCP_TESTS_ON"] = "wheel"
    return subprocess.run(command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL, env=clean).returncode


def _say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
