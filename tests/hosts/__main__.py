"""``PYTHONPATH=tests python -m hosts [NAME …] [--pytest=ARGUMENTS]``; ``make test-hosts`` calls it.

Each ``tests/hosts/test_<host>.py`` runs in an environment of its own, with the real package of that host. What goes
into it stands at the file's top, one line each::

    # requires: hermes-agent[mcp]==0.19.0
    # python: 3.13

``requires`` may stand more than once. ``python`` is the newest version that the host works on; without it the newest
at hand is taken. ``# again: mcp==1.30.0`` runs the files once more, in another environment, with that in place of what
is required of the same package; with ``# mcp: 1.30.0 2.3.0`` there is an environment with each of these SDKs, and no
other. A further file of the same host, here or in ``tests/scenarios/<host>/``, has the one line ``# with: hermes``
instead. Tests enter what they have seen with ``table_row("signals by host", "deadline")``: the table is printed at the
end. `docs/hosts/seen.md` is written where each host has been run and none has failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from hosts import page
from matrix import pythons, results
from matrix.environments import ENVS, REQUIREMENTS, ROOT, build_wheel, pip, prepare, program

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE, *sorted(HERE.parent.glob("scenarios/*/")))
ON_CI = os.environ.get("CI") == "true"
_LINE = re.compile(r"^# (requires|python|again|mcp|with): *(\S.*?) *$")
_PACKAGE = re.compile(r"^[\w.-]+")
_REASON_LENGTH = 160


@dataclass(frozen=True)
class Host:
    """A host's test files and what its environment needs."""

    name: str
    files: tuple[Path, ...]
    requirements: tuple[str, ...]
    newest: tuple[int, int] | None


def hosts(*folders: Path) -> dict[str, Host]:
    """The hosts by name, from what stands at the top of the files.

    Raises:
        ValueError: a file would never run: it says neither what it requires nor whom it goes with, or goes with nobody.
    """
    files = [file for folder in folders or FOLDERS for file in sorted(folder.glob("test_*.py"))]
    heads = {file: _head(file) for file in files}
    found = {}
    for file, head in heads.items():
        if "requires" in head:
            name = file.stem.removeprefix("test_")
            more = [other for other, its in heads.items() if its.get("with") == [name]]
            newest = _version(head.get("python"))
            for sdk in " ".join(head.get("mcp", [])).split() or [None]:
                own, pin = (f"{name}-mcp{sdk}", [f"mcp=={sdk}"]) if sdk else (name, [])
                found[own] = Host(own, (file, *more), (*pin, *head["requires"]), newest)
                for other in head.get("again", ()):
                    variant = _with(found[own], other)
                    found[variant.name] = variant
    for file, head in heads.items():
        if "requires" not in head and head.get("with", [""])[0] not in found:
            raise ValueError(f"{file.name} needs a line '# requires: PACKAGE==VERSION' or '# with: HOST' at its top")
    return found


def _with(host: Host, other: str) -> Host:
    """The same host with another version of a package: ``google_adk-mcp1.30.0``."""
    kept = [line for line in host.requirements if package(line) != package(other)]
    return replace(host, name=f"{host.name}-{other.replace('==', '')}", requirements=(*kept, other))


def package(requirement: str) -> str:
    """``hermes-agent`` of ``hermes-agent[mcp]==0.19.0``."""
    found = _PACKAGE.match(requirement)
    return found[0] if found is not None else requirement


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


def main(*folders: Path) -> int:
    """0 if nothing failed, 1 if something did, 2 if it could not begin; ``folders`` of other tests than the hosts'."""
    parser = argparse.ArgumentParser(prog="hosts")
    parser.add_argument("names", nargs="*", help="hosts; without one, all")
    parser.add_argument("--pytest", default="", help="arguments for pytest, in one word")
    given = parser.parse_args()
    try:
        chosen = _chosen(given.names, folders)
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
    if not folders and not given.pytest:
        _keep(collected)
    return int(any(result.failed for result in collected))


def _keep(collected: list[results.Result]) -> None:
    """Write the page from this run and, for hosts that were not in it, from their last."""
    now = {result.name: result for result in collected}
    every = [now.get(name) or _last(host) for name, host in hosts().items()]
    if all(result is not None and not result.failed for result in every):
        page.FILE.write_text(page.text(filter(None, every)), encoding="utf-8")
        print(f"written: {page.FILE.relative_to(ROOT)}")


def _last(host: Host) -> results.Result | None:
    report = _report(host)
    return _read(host, report, 0, 0.0) if report.exists() and _folder(host).exists() else None


def _read(host: Host, report: Path, exit_code: int, seconds: float) -> results.Result:
    result = results.read(host.name, report, exit_code, seconds)
    # Everything the tests need was installed for them: what is skipped here would run nowhere.
    result.failed += result.skipped
    result.python, result.packages = _installed(host, _folder(host))
    return result


def _chosen(names: list[str], folders: tuple[Path, ...]) -> list[Host]:
    known = hosts(*folders)
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise ValueError(f"no host is called {', '.join(unknown)}; there are {', '.join(known)}")
    # A module's name has no hyphen: what stands before one is the host of a variant.
    return [host for name, host in known.items() if not names or {name, name.partition("-")[0]} & {*names}]


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
    report = _report(host) if not extra else ENVS / f"host-{host.name}.part.xml"
    report.unlink(missing_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "OTEL_"))}
    command = [program(folder, "pytest"), "--quiet", f"--junitxml={report}", *map(str, host.files), *extra]
    code = subprocess.run(command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL, env=clean).returncode
    return _read(host, report, code, time.monotonic() - started)


def _installed(host: Host, folder: Path) -> tuple[str, str]:
    """The Python version, and the versions of the packages that are pinned and of the SDK."""
    names = dict.fromkeys([*(package(line) for line in host.requirements if "==" in line), "mcp"])
    asked = "import importlib.metadata as m, sys; print('%d.%d' % sys.version_info[:2], *map(m.version, sys.argv[1:]))"
    command = [program(folder, "python"), "-c", asked, *names]
    python, *versions = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return python, ", ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True))


def _folder(host: Host) -> Path:
    return ENVS / f"host-{host.name}"


def _report(host: Host) -> Path:
    return ENVS / f"host-{host.name}.xml"


def _environment(host: Host, interpreter: str, wheel: Path) -> Path:
    wanted = [*host.requirements, "-r", str(REQUIREMENTS / "base.txt"), f"{wheel}"]
    folder = prepare(_folder(host), interpreter, wanted)
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
