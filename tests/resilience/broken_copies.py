"""Break the resilience layer on purpose, one line at a time, and see that a test notices.

    python tests/resilience/broken_copies.py [WORD]

Each row of `BREAKS` is a change to a copy of the package and the tests that have to fail with it. A break that no test
notices is printed and makes the exit code 1. WORD picks the rows whose text contains it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Break(NamedTuple):
    what: str
    file: str
    old: str
    new: str
    tests: str
    """A file of tests/resilience, a test in it, or a file with ``-k expression``."""


PROPERTIES = "test_connector_properties.py::test_whatever_happens_in_whatever_order[trio]"
BUDGET = "test_connector_properties.py::test_connects_never_outnumber_the_budget_that_health_restores[trio]"
RETRY = "test_retry.py::test_attempts_keep_to_the_policy[trio]"
BREAKER = "test_breaker.py -k model"
BREAKS = (
    Break("two probes", "_breaker.py", "or self._probe is not None", "", BREAKER),
    Break("the probe's slot is never freed", "_breaker.py", "if self._probe is permit:", "if False:", BREAKER),
    Break("a burst counts in full", "_breaker.py", "permit.serial != self._serial", "False", BREAKER),
    Break("an answer leaves the strikes", "_breaker.py", "        self._strikes.clear()\n", "", BREAKER),
    Break("every cause counts", "_breaker.py", "if cause not in self.counted or burst:", "if burst:", BREAKER),
    Break("a probe's strike does not open again", "_breaker.py", "if permit.is_probe or (", "if (", BREAKER),
    Break("an attempt past the budget", "_retry.py", "    if room < quiet:\n        return None\n", "", RETRY),
    Break("jitter beyond its bound", "_retry.py", "min(widest, room)", "min(2 * widest + 1, room)", RETRY),
    Break("no quiet after a cut-off", "_retry.py", "            await watcher.quiet()\n", "            pass\n", RETRY),
    Break("many attempts after a deadline", "_retry.py", "(after_deadline=cut_off)", "(after_deadline=False)", RETRY),
    Break("retries without leave", "_retry.py", "            return idempotent\n", "            return True\n", RETRY),
    Break(
        "no lock",
        "_attempt.py",
        "await stack.enter_async_context(_report.sink.lock(self.lock, self.name, holder=holder))",
        "pass",
        PROPERTIES,
    ),
    Break(
        "nothing is remembered of a cut-off",
        "_connection.py",
        "self.abandoned[request] = quiet_until",
        "pass",
        PROPERTIES,
    ),
    Break("writes are repeated", "_connector.py", "idempotent or idempotency_key is not None)", "True)", PROPERTIES),
    Break(
        "the keepalive never skips",
        "_keepalive.py",
        "if self._busy(connection):",
        "if False:",
        "test_connector_life.py -k no_probe_is_sent",
    ),
    Break(
        "a teardown tells nobody",
        "_connection.py",
        "request.flight.interrupt(error, gently=by_peer)",
        "pass",
        "test_connector_stdio.py -k reconnect_ends",
    ),
    Break(
        "the caller waits for a callee that swallows",
        "_flight.py",
        "anyio.move_on_after(GRACE, shield=True)",
        "anyio.CancelScope(shield=True)",
        "test_deadline.py -k swallows",
    ),
    Break(
        "a quiet time outlives its session",
        "_attempt.py",
        " or not connection.usable:",
        ":",
        "test_connector_life.py -k quiet_time_goes_on",
    ),
    Break("reconnects without end", "_reconnect.py", "if self.left == 0:", "if False:", BUDGET),
    Break(
        "a handshake counts as health",
        "_owner.py",
        'self._enter("ready")\n',
        'self._enter("ready"); self.budget.health()\n',
        BUDGET,
    ),
    Break(
        "a time-out is told by its code",
        "_classify.py",
        "isinstance(context, TIMEOUTS) and not _among(context, older)",
        "rpc_code(error) in (408, -32001)",
        "test_classify.py",
    ),
    Break("an inverted deadline is accepted", "_deadline.py", "if deadline >= scope:", "if False:", "test_deadline.py"),
    Break(
        "a queued deadline is a strike",
        "_guarded.py",
        '"lock_wait": "lock_wait"}',
        '"lock_wait": "deadline"}',
        "test_connector_life.py -k waits_for_the_lock",
    ),
    Break(
        "probes begin together",
        "_keepalive.py",
        "random.uniform(0.0, self._interval)",
        "self._interval",
        "test_connector_life.py -k spread_over_the_interval",
    ),
    Break(
        "an error answer to a ping is a failure",
        "_keepalive.py",
        "in (Outcome.OK, Outcome.ERROR):",
        "in (Outcome.OK,):",
        "test_connector_stdio.py -k without_ping",
    ),
    Break(
        "a clock that jumped goes unnoticed",
        "_reconnect.py",
        "> self.TOLERANCE",
        "> 1e9",
        "test_connector_life.py -k sleep_of_the_machine",
    ),
)


def notices(broken: Break, folder: Path) -> bool:
    """Whether the tests of this row fail on a copy with this break."""
    folder.mkdir()
    for part in ("otel_mcp", "tests", "examples"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "otel_mcp" / "resilience" / broken.file
    text = path.read_text(encoding="utf-8")
    if text.count(broken.old) < 1:
        raise SystemExit(f"{broken.file} no longer has {broken.old!r}: bring the row {broken.what!r} up to date")
    path.write_text(text.replace(broken.old, broken.new), encoding="utf-8")
    name, *options = broken.tests.split()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        f"tests/resilience/{name}",
        *options,
        "--hypothesis-profile=no-shrinking",
    ]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode == 1


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    unnoticed = 0
    for broken in BREAKS:
        if word not in broken.what:
            continue
        with tempfile.TemporaryDirectory() as folder:
            noticed = notices(broken, Path(folder) / "copy")
        unnoticed += not noticed
        print(f"{'noticed  ' if noticed else 'UNNOTICED'} {broken.what}", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    raise SystemExit(main())
