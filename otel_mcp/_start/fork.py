"""What a forked child must not keep of its parent: the listener, the threads' work, the call log's queue."""

from __future__ import annotations

import os
from collections.abc import Callable

_armed = False


def arm(forget: Callable[[], None]) -> None:
    """Have `forget()` called in every forked child; a second call changes nothing.

    It has to be armed before the SDK's processors are made: handlers run in the order in which they were registered,
    and ours has to come before the ones that start threads again.
    """
    global _armed
    if _armed or not hasattr(os, "register_at_fork"):
        return
    _armed = True
    os.register_at_fork(after_in_child=forget)
