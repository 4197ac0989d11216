"""One line of ours instead of the SDK's log records about our own providers.

The SDK logs each failed export, each dropped span and each bad variable, some with tracebacks; a program without
logging set up gets them on stderr, and one that logs to stdout gets them there. For the program's own providers that
is as it should be. For the private ones that we made it would be our noise in somebody else's output, so records that
come out of our classes or our set-up are taken out and said once, in one line.

A record is ours if a frame of one of our modules is on the stack that logs it: no thread is marked and no span pays
for it, because stacks are only looked at when a record is about to be logged.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from otel_mcp._ground.text import without_secrets
from otel_mcp._start.notices import say

_OUR_FRAMES: Final = 40
"""Frames looked at: an export retried inside requests and urllib3 is about 20 deep."""

_MAX_REASON: Final = 160
_MAX_NESTING: Final = 10

_SAID_BY_US: Final = (
    "Header format invalid",
    "Invalid value for OTEL_EXPORTER_OTLP_METRICS_",
    "Unrecognized OTEL_EXPORTER_OTLP_METRICS_",
    "Invalid key value resource attribute pair",
    "Failed to load resource detector",
)
"""Beginnings of records whose case `standard` has already named; the first would print a header, maybe a secret."""

_modules: set[str] = {__name__}


def ours(module: str) -> None:
    """Records logged while a function of `module` is on the stack are ours too."""
    _modules.add(module)


def hush() -> None:
    """Put the filter on every logger of OpenTelemetry that exists now; call it after each import of SDK parts."""
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if name.startswith("opentelemetry.") and isinstance(logger, logging.Logger):
            logger.addFilter(_take_ours)  # adding the same filter twice changes nothing


@contextlib.contextmanager
def resources_are_ours() -> Iterator[None]:
    """The SDK reads the resource's variables as it is imported, and in threads: there no stack tells whose they are."""
    logger = logging.getLogger("opentelemetry.sdk.resources")
    logger.addFilter(_not_said_by_us)
    try:
        yield
    finally:
        logger.removeFilter(_not_said_by_us)


def _not_said_by_us(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_SAID_BY_US)


def _take_ours(record: logging.LogRecord) -> bool:
    frame = _our_frame()
    if frame is None:
        return True
    if record.levelno >= logging.WARNING and _not_said_by_us(record):
        speaker = frame.f_locals.get("self")
        what = getattr(speaker, "otel_mcp_what", None)
        if what is None:
            say(_one_line(record))
        else:
            _say_failure(what, speaker, record)
    return False


def _our_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_OUR_FRAMES):
        if frame is None:
            return None
        if frame.f_globals.get("__name__") in _modules:
            return frame
        frame = frame.f_back
    return None


_failures: set[str] = set()


def _say_failure(what: str, exporter: object, record: logging.LogRecord) -> None:
    if what not in _failures:
        _failures.add(what)
        endpoint = getattr(exporter, "_endpoint", None)
        where = f" to {without_secrets(endpoint)}" if isinstance(endpoint, str) else ""
        say(f"{what} cannot be sent{where} ({_reason(record)}); the program goes on, this is said once")


def _reason(record: logging.LogRecord) -> str:
    errors = [argument for argument in record.args or () if isinstance(argument, BaseException)]
    if record.exc_info and record.exc_info[1] is not None:
        errors.append(record.exc_info[1])
    return _root(errors[0]) if errors else _one_line(record)


def _root(error: BaseException) -> str:
    """The innermost error's own words: requests wraps urllib3's error, which wraps the operating system's."""
    for _ in range(_MAX_NESTING):
        inside = (getattr(error, "reason", None), error.__cause__, error.__context__, *error.args[:1])
        inner = next((each for each in inside if isinstance(each, BaseException)), None)
        if inner is None:
            break
        error = inner
    return _short(getattr(error, "strerror", None) or str(error) or type(error).__name__)


def _one_line(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        text += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
    return _short(text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_REASON else text[: _MAX_REASON - 1] + "…"


def quiet(kind: type[Any], what: str, given: Callable[[Any], Any] | None = None) -> type[Any]:
    """A subclass of an exporter, processor or reader whose log records are taken out.

    `what` is how the failure line names what could not be sent ("traces"). `given` makes what an exporter is given of
    what the SDK gives it.
    """

    class Quiet(kind):  # type: ignore[misc] # the class is only known at run time
        otel_mcp_what = what

        def export(self, *args: Any, **kwargs: Any) -> Any:
            return super().export(*(args if given is None else map(given, args)), **kwargs)

        def on_end(self, span: Any) -> None:
            super().on_end(span)

        def on_emit(self, log_record: Any) -> None:
            super().on_emit(log_record)

        def collect(self, *args: Any, **kwargs: Any) -> None:
            super().collect(*args, **kwargs)

        def shutdown(self, *args: Any, **kwargs: Any) -> Any:
            return super().shutdown(*args, **kwargs)

        def _at_fork_reinit(self) -> None:
            """The SDK starts a reader's thread again in a forked child; ours stays ended there."""

    for name in ("export", "on_end", "on_emit", "collect", "shutdown", "_at_fork_reinit"):
        if not hasattr(kind, name):
            delattr(Quiet, name)
    Quiet.__name__ = Quiet.__qualname__ = kind.__name__
    return Quiet
