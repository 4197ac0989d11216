"""What can be learned about a server process without disturbing it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Final

_EXITING: Final = 0x4
"""`PF_EXITING` in the kernel's task flags: its files are closed, it is not a zombie yet."""


def exit_code(process: Any) -> int | None:
    """The process's exit code if it has ended, else None; from any thread.

    The child is never reaped here: that is the SDK's part. So the kernel is asked first, and the process object only
    about a child that is reaped already: trio's would reap it when asked.
    """
    if process is None:
        return None
    pid = getattr(process, "pid", None)
    if isinstance(pid, int) and hasattr(os, "waitid"):
        with contextlib.suppress(OSError):
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                return None
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    code = getattr(process, "returncode", None)
    return code if isinstance(code, int) else None


def end_cause(process: Any) -> str:
    """Why a stdio stream ended: the process is gone, or it lives and only closed its stdout."""
    return "process_exit" if process is None or is_gone(process) else "stream_ended"


def is_gone(process: Any) -> bool:
    """Whether the process has ended, or is about to: its pipes close a moment before the kernel is done with it."""
    if exit_code(process) is not None:
        return True
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii", errors="replace")
    except (OSError, AttributeError):
        return True
    state, *rest = text.rpartition(")")[2].split()
    flags = int(rest[5]) if len(rest) > 5 else _EXITING
    return state in {"Z", "X"} or bool(flags & _EXITING)
