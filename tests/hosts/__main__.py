"""``PYTHONPATH=tests python -m hosts [NAME …] [--pytest=ARGUMENTS]``; ``make test-hosts`` calls it.

Each ``tests/hosts/test_<host>.py`` runs in an environment of its own, with the real package of that host. What goes
into it stands at the file's top, one line each::

    # requires: hermes-agent[mcp]==0.19.0
    # python: 3.13

``requires`` may stand more than once. ``python`` is the newest version that the host works on; without it the newest
at hand is taken. A further file of the same host has the one line ``# with: hermes`` instead. Tests enter what they
have seen with ``table_row("signals by host", "deadline")``: the table is printed at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from matrix import pythons, results
from matrix.environments import ENVS, REQUIREMENTS, ROOT, build_wheel, pip, prepare, program

HERE = Path(__file__).resolve().parent
ON_CI = os.environ.get("CI") == "true"
_LINE = re.compile(r"^# (requires|python|with): *(\S.*?) *$")
_REASON_LENGTH = 160


@dataclass(frozen=True)
class Host:
    """A host's test files and what its environment needs."""

    name: str
    files: tuple[Path, ...]
    requirements: tuple[str, ...]
    newest: tuple[int, int] | None


def hosts(folder: Path = HERE) -> dict[str, Host]:
    """The hosts by name, from what stands at the top of the files.

    Raises:
        ValueError: a file would never run: it says neither what it requires nor whom it goes with, or goes with nobody.
    """
    heads = {file: _head(file) for file in sorted(folder.glob("test_*.py"))}
    found = {}
    for file, head in heads.items():
        if "requires" in head:
            name = file.stem.removeprefix("test_")
            more = [other for other, its in heads.items() if its.get("with") == [name]]
            found[name] = Host(name, (file, *more), tuple(head["requires"]), _version(head.get("python")))
    for file, head in heads.items():
        if "requires" not in head and head.get("with", [""])[0] not in found:
            raise ValueError(f"{file.name} needs a line '# requires: PACKAGE==VERSION' or '# with: HOST' at its top")
    return found


def _head(file: Path) -> dict[str, list[str]]:
    head: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        entry = _LINE.match(line)
        if entry is not None:
            head.setdefault(entry[1], []).append(entry[2])
    return head


def _version(given: list[str] | None) -> tuple[int, int] | None:
    if given is None:
        return None
    major, _, minor = given[0].partition(".")
    return int(major), int(minor)


def main(folder: Path = HERE) -> int:
    """0 if nothing failed, 1 if something did, 2 if it could not begin."""
    parser = argparse.ArgumentParser(prog="hosts")
    parser.add_argument("names", nargs="*", help="hosts; without one, all")
    parser.add_argument("--pytest", default="", help="arguments for pytest, in one word")
    given = parser.parse_args()
    try:
        chosen = _chosen(given.names, folder)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    interpreters = pythons.at_hand()
    if not interpreters:
        print("No Python 3.10 to 3.13 with venv found; on Debian: apt-get install python3-venv", file=sys.stderr)
        return 2
    wheel = build_wheel(interpreters[max(interpreters)])
    collected = [_run(host, interpreters, wheel, given.pytest.split()) for host in chosen]
    print(results.summary(collected))
    return int(any(result.failed for result in collected))


def _chosen(names: list[str], folder: Path) -> list[Host]:
    known = hosts(folder)
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise ValueError(f"no host is called {', '.join(unknown)}; there are {', '.join(known)}")
    return [host for name, host in known.items() if not names or name in names]


def _run(host: Host, interpreters: dict[tuple[int, int], str], wheel: Path, extra: list[str]) -> results.Result:
    print(f"\n== {host.name}: {', '.join(host.requirements)}", flush=True)
    started = time.monotonic()
    fitting = [version for version in interpreters if host.newest is None or version <= host.newest]
    if not fitting:
        return _left_out(host, "no Python at hand that it works on", started)
    try:
        folder = _environment(host, interpreters[max(fitting)], wheel)
    except subprocess.CalledProcessError as broken:
        lines = [line for line in f"{broken.stderr}".splitlines() if line.startswith("ERROR")] or [str(broken)]
        return _left_out(host, f"cannot be installed: {lines[0][:_REASON_LENGTH]}", started)
    report = ENVS / f"host-{host.name}.xml"
    report.unlink(missing_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    command = [program(folder, "pytest"), "--quiet", f"--junitxml={report}", *map(str, host.files), *extra]
    code = subprocess.run(command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL, env=clean).returncode
    return results.read(host.name, report, code, time.monotonic() - started)


def _environment(host: Host, interpreter: str, wheel: Path) -> Path:
    wanted = [*host.requirements, "-r", str(REQUIREMENTS / "base.txt"), f"{wheel}"]
    folder = prepare(ENVS / f"host-{host.name}", interpreter, wanted)
    # The version stays the same while the code changes, so pip would keep what it has.
    pip(folder, ["--force-reinstall", "--no-deps", str(wheel)])
    return folder


def _left_out(host: Host, reason: str, started: float) -> results.Result:
    """A host that could not be had: a failure on CI, a loud skip elsewhere."""
    result = results.Result(host.name, seconds=time.monotonic() - started, reason=reason)
    if ON_CI:
        result.failed = 1
    else:
        result.skipped = 1
        result.skips.add(f"{host.name} {reason}")
    return result


if __name__ == "__main__":
    sys.exit(main())
