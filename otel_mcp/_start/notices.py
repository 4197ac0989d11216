"""What the user has to be told about start-up and configuration: one line on stderr, each once a process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Final

from otel_mcp._ground.guard import logger
from otel_mcp._ground.text import visible

_MAX_SAID: Final = 200
"""Texts remembered; more different ones would be a flood, and are not said."""

_said: set[str] = set()
"""Without a lock: two threads may say one line twice, but a lock held while another thread forks is held for ever."""

_listener: list[str] | None = None


@contextlib.contextmanager
def overheard() -> Iterator[list[str]]:
    """What is said inside goes into the list and nowhere else: `otel-mcp doctor` says it in its own place."""
    global _listener
    before, _listener = _listener, []
    try:
        yield _listener
    finally:
        _listener = before


def say(text: str) -> None:
    """Write ``otel_mcp: text`` to stderr unless it was said before; never raises.

    The text goes to the logger as INFO too and not as WARNING: a program that logs to its stdout would otherwise
    find our lines there.
    """
    text = visible(text)
    if _listener is not None:
        _listener.append(text)
        return
    if text in _said or len(_said) >= _MAX_SAID:
        return
    _said.add(text)
    logger.info("%s", text)
    with contextlib.suppress(Exception):  # stderr may be None, closed, or an object of the program's own
        sys.stderr.write(f"otel_mcp: {text}\n")
        sys.stderr.flush()
