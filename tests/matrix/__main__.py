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

# Most tests wait for a process most of the time, so more workers than processors pay. Each worker collects all tests,
# which takes as long as many of them.
WORKERS = 4
WORKERS_OF_WHOLE, WORKERS_OF_OTHERS = 3, 2
"""Of an environment that runs everything, and of one beside it that runs a part: as many in all as keep two processors
busy to the end of each."""
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
    with ThreadPoolExecutor(max_workers=2) as pool, ThreadPoolExecutor(max_workers=2) as lanes:
        # The later environments are made while the first is tested.
        tools = pool.submit(prepare, ENVS / "check", newest, ["-r", str(REQUIREMENTS / "check.txt")])
        folders = {one: pool.submit(prepare_for_tests, one, interpreters[one.python], wheel) for one in chosen}
        typed = next((one for one in chosen if one.sdk == "2.3"), chosen[0])
        checked = not (given.only or given.ends)
        whole = [] if given.check else [one for one in chosen if one.whole]
        others = [] if given.check else [one for one in chosen if not one.whole]
        both = bool(whole and others)

        def lane(environments: list[table.Environment], workers: int) -> list[results.Result]:
            return [
                _pytest(one, folders[one].result(), given.pytest, workers, first=one is chosen[0])
                for one in environments
            ]

        first = lanes.submit(lane, whole, WORKERS_OF_WHOLE if both else WORKERS)
        collected = [_checks(tools.result(), folders[typed].result())] if checked else []
        second = lanes.submit(lane, others, WORKERS_OF_OTHERS if both else WORKERS)
        ran = {result.name: result for result in [*first.result(), *second.result()]}
    for one in chosen:
        if one.name in ran:
            _settle(ran[one.name], one, folders[one].result())
            collected.append(ran[one.name])
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


def _pytest(
    environment: table.Environment, folder: Path, extra: list[str], workers: int, *, first: bool
) -> results.Result:
    report = ENVS / f"{environment.name}.xml"
    report.unlink(missing_ok=True)
    only_whole = table.INDEPENDENT_OF_THE_SDK | table.AT_THE_FAR_ENDS
    only_first = frozenset() if first else table.ONCE
    left_out = sorted((frozenset() if environment.whole else only_whole) | only_first | set(table.ELSEWHERE))
    options = [f"--ignore=tests/{name}" for name in left_out if (ROOT / "tests" / name).exists()]
    _say(environment.name)
    started = time.monotonic()
    # The console script, not `python -m pytest`: that would put the source tree before the installed wheel.
    spread = ["--numprocesses", str(workers), "--dist", "loadgroup"]
    command = [program(folder, "pytest"), "--quiet", f"--junitxml={report}", *spread, *options, *extra]
    code = _stream(command, f"{environment.name}  ")
    if code == NOTHING_COLLECTED and extra:
        code = 0  # what was asked for does not run in this environment
    return results.read(environment.name, report, code, time.monotonic() - started)


def _settle(result: results.Result, environment: table.Environment, folder: Path) -> None:
    """The failed tests once more, one after another and with nothing beside them: many meet real processes, and a busy
    machine disturbs a few."""
    nodes = result.broken
    if not 0 < len(nodes) <= MOST_DISTURBED or result.failed != len(nodes):
        return
    _say(f"{environment.name}, once more by themselves: {len(nodes)}")
    report = ENVS / f"{environment.name}.again.xml"
    report.unlink(missing_ok=True)
    command = [program(folder, "pytest"), "--quiet", f"--junitxml={report}", *nodes]
    code = _stream(command, f"{environment.name}  ")
    again = results.read(environment.name, report, code, 0.0)
    result.settle(again if report.exists() and code in {0, 1} else results.Result(environment.name, broken=nodes))


def _stream(command: list[str], before: str = "") -> int:
    """Runs it and prints what it says line by line, with ``before`` in front: two environments may speak at once."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    clean["OTEL_MCP_TESTS_ON"] = "wheel"
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env=clean,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            print(f"{before}{line}", end="", flush=True)
    return process.returncode


def _say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
