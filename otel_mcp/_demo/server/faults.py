"""What goes wrong, at which request: read from the command line, decided once a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

EVERYWHERE = frozenset({"silent", "error", "exit", "delay", "drop"})
HTTP_ONLY = frozenset({"status", "forget", "reset", "eof", "accepted", "html"})
STDIO_ONLY = frozenset({"noise", "close"})
KINDS = EVERYWHERE | HTTP_ONLY | STDIO_ONLY
_NEEDS_VALUE = frozenset({"status", "error", "delay"})
_TEXT_FIELDS = frozenset({"do", "on", "tool"})
_WHOLE_FIELDS = frozenset({"after", "times"})


class BadFault(ValueError):
    """A fault that cannot be read; its text names the value and what is allowed."""


@dataclass(frozen=True)
class Fault:
    """One misbehaviour.

    ``do`` is one of ``silent`` (never answers), ``error`` (JSON-RPC error, ``value`` = code), ``exit`` (the process
    ends, ``value`` = exit code), ``delay`` (``value`` seconds, then as usual), ``drop`` (does the work, then resets the
    connection or ends the process instead of answering); over HTTP ``status`` (``value`` = HTTP status), ``forget``
    (404, and the session is unknown from now on), ``reset`` (TCP reset, nothing was done), ``eof`` (the event stream
    ends without an answer), ``accepted`` (202 to a request), ``html`` (a web page); over stdio ``noise`` (a line that
    is no protocol, then as usual) and ``close`` (stdout is closed, the process lives on).

    ``on`` is a method or ``*``, ``tool`` narrows it to one tool. The first ``after`` matching messages are spared,
    then ``times`` of them are hit (``None``: all).
    """

    do: str
    value: float | None = None
    on: str = "tools/call"
    tool: str | None = None
    after: int = 0
    times: int | None = None

    def argument(self) -> str:
        """The text that :func:`parse` reads back, for ``--fault``."""
        given = (
            ("do", self.do),
            ("value", self.value),
            ("on", self.on),
            ("tool", self.tool),
            ("after", self.after or None),
            ("times", self.times),
        )
        return ",".join(f"{name}={value}" for name, value in given if value is not None)

    def concerns(self, method: str, tool: str | None) -> bool:
        return self.on in ("*", method) and self.tool in (None, tool)


def parse(text: str) -> Fault:
    """Reads ``do=status,value=401,on=tools/call,after=3,times=1``.

    Raises:
        BadFault: an unknown field or kind, a number that is none, or a missing value.
    """
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, separator, value = part.partition("=")
        if not separator:
            raise BadFault(f"fault {text!r}: {part!r} is not name=value")
        fields[name] = _typed(text, name, value)
    kind = fields.get("do")
    if kind not in KINDS:
        raise BadFault(f"fault {text!r}: do={kind} is unknown; use one of {', '.join(sorted(KINDS))}")
    if kind in _NEEDS_VALUE and "value" not in fields:
        raise BadFault(f"fault {text!r}: do={kind} needs value=")
    return Fault(**fields)


def _typed(text: str, name: str, value: str) -> str | float | int:
    try:
        if name in _TEXT_FIELDS:
            return value
        if name in _WHOLE_FIELDS:
            return int(value)
        if name == "value":
            return float(value)
    except ValueError:
        raise BadFault(f"fault {text!r}: {name}={value} is not a number") from None
    raise BadFault(f"fault {text!r}: {name} is unknown; use do, value, on, tool, after, times")


@dataclass
class FaultPlan:
    """Counts matching messages for each fault and says which fault, if any, hits the next one."""

    faults: tuple[Fault, ...]
    _seen: dict[Fault, int] = field(default_factory=dict)

    def take(self, method: str, tool: str | None = None) -> Fault | None:
        """The first fault that hits this message; every fault that concerns it counts it."""
        hit: Fault | None = None
        for fault in self.faults:
            if not fault.concerns(method, tool):
                continue
            seen = self._seen[fault] = self._seen.get(fault, 0) + 1
            due = seen > fault.after and (fault.times is None or seen <= fault.after + fault.times)
            if due and hit is None:
                hit = fault
        return hit
