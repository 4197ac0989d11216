"""The rows of the fault matrix: what a fault may cost at most. Tests hold them; `faults.page` writes them down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One fault. Calls are lost in none: each run of a program with us is compared with one without."""

    fault: str
    lines: int = 0
    """Lines of the call log that may be lost in the test's run."""
    torn: int = 0
    """Lines of it that may be cut short; a reader skips them."""
    lost: str = "none"
    """Which records those are, in words."""
    later: float = 0.0
    """Seconds by which the program may end later than without us."""
    left: str = "nothing"


LAST_SECOND = "lines of up to the last second, usually a quarter; spans not sent yet; counts since the last scrape"
ENTRY = "its entry in the targets folder, until the next process starts there"
NOTHING_RECEIVED = "none in the call log; spans, and metrics by OTLP, that the collector did not take"

ROWS = {
    "server killed": Row("a server is killed (SIGKILL) in mid-call"),
    "server stopped": Row("a server is stopped (SIGSTOP) and goes on later"),
    "agent killed": Row("the agent is killed (SIGKILL) in mid-call", 5, lost=LAST_SECOND, left=ENTRY),
    "agent stopped": Row("the agent is stopped (SIGSTOP) in mid-call and goes on later"),
    "prometheus": Row("Prometheus is stopped in the middle of a scrape, then killed", lost="none in the call log"),
    "collector stopped": Row("the OTLP collector is stopped (SIGSTOP)", lost=NOTHING_RECEIVED, later=2.0),
    "collector killed": Row("the OTLP collector is killed (SIGKILL)", lost=NOTHING_RECEIVED, later=2.0),
    "disk full": Row("the disk of the call log is full", 20, 2, "lines told while it is full; stderr says how many"),
    "descriptors": Row("no file descriptor is left"),
    "clock": Row("the clock jumps a day forward, then two days back"),
    "workers": Row("worker processes, forked and spawned"),
    "os._exit": Row("the program ends by `os._exit` in mid-call", 5, lost=LAST_SECOND, left=ENTRY),
    "mid-call": Row("the interpreter shuts down in mid-call"),
    "handler raises": Row("a signal handler raises in the middle of our work"),
    "handler calls": Row("a signal handler calls us in the middle of our work"),
    "uvloop": Row("uvloop, with a server killed and one stopped"),
    "contexts": Row("copied contexts, in tasks and threads"),
    "generators": Row("generators and calls abandoned half-way"),
    "sessions": Row("hundreds of sessions opened and closed"),
}
