"""The end of the process: everything written and sent that can be, within two seconds.

The SDK's own exit handler waits up to 20 s for a collector that never answers, and its time limits do not bound the
export that is under way. So private providers are made without it, and each is shut down by a daemon thread that we
wait for no longer than the limit. The thread is started with the provider and sleeps until then, because Python 3.12
starts no thread once the interpreter is going down.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from otel_mcp._ground.guard import guarded

EXIT_SECONDS: Final = 2.0
"""For a healthy collector this is plenty; it is what an unhealthy one may cost the program."""

_armed = False


class Farewell:
    """A thread that waits for `begin` and then runs `action` once."""

    def __init__(self, action: Callable[[], object], what: str) -> None:
        self._action = action
        self._what = what
        self._begun = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name=f"otel-mcp-exit-{what}", daemon=True).start()

    def _run(self) -> None:
        self._begun.wait()
        try:
            with guarded("exit", f"the last {self._what}"):
                self._action()
        finally:
            self._done.set()

    def begin(self) -> None:
        """Let the thread run; returns at once."""
        self._begun.set()

    def wait(self, timeout: float) -> bool:
        """Whether the action is done within `timeout` seconds."""
        return self._done.wait(max(0.0, timeout))


def wait_for(farewells: list[Farewell], deadline: float) -> bool:
    """Whether all of them are done by `deadline` on the monotonic clock."""
    done = [farewell.wait(deadline - time.monotonic()) for farewell in farewells]
    return all(done)


def arm(close: Callable[[float], None]) -> None:
    """Have `close(seconds)` called when the process ends normally; a second call changes nothing."""
    global _armed
    if not _armed:
        _armed = True
        atexit.register(close, EXIT_SECONDS)
    _arm_pool_worker(close)


def _arm_pool_worker(close: Callable[[float], None]) -> None:
    # A process forked by multiprocessing ends by os._exit and runs only multiprocessing's own finalizers.
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return
    with contextlib.suppress(Exception):
        util.Finalize(None, close, args=(EXIT_SECONDS,), exitpriority=100)
