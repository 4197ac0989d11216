"""Settings from the environment.

A bad value never raises: it is replaced by the default, and `Settings.complaints` holds one sentence for it, naming
the variable, the value and what is used instead. Start-up prints these once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from otel_mcp._ground.catalogue import VARIABLES

T = TypeVar("T")

_PREFIX: Final = "OTEL_MCP_"
_OF_OUR_OWN: Final = ("OTEL_MCP_RUN",)
"""Set by ``otel-mcp run``, read by what it starts."""

_TRUE = {"true", "1", "yes", "on"}
_FALSE = {"false", "0", "no", "off", ""}


@dataclass(frozen=True)
class Settings:
    """What the variables of the contract say, checked. Times in seconds."""

    enabled: bool = False
    call_log: str | None = None
    connectors: tuple[tuple[str, str], ...] = ()
    """(connector name, glob) in the order given; the first match names a target."""
    hosts: frozenset[str] | None = None
    """Hook targets to use; None means every adapter whose host is imported."""
    still_waiting: float = 30.0
    tool_labels: int = 200
    targets: str | None = None
    spans: bool = True
    capture_content: bool = False
    sdk_disabled: bool = False
    complaints: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read every variable; never raises."""
        read = _Reader(os.environ if environ is None else environ)
        return cls(
            enabled=read.value("OTEL_MCP_ENABLED", _boolean, False),
            call_log=read.value("OTEL_MCP_CALL_LOG", _text, None),
            connectors=read.connectors("OTEL_MCP_CONNECTORS"),
            hosts=read.value("OTEL_MCP_HOSTS", _hosts, None),
            still_waiting=read.value("OTEL_MCP_STILL_WAITING", _seconds, 30.0),
            tool_labels=read.value("OTEL_MCP_TOOL_LABELS", _count, 200),
            targets=read.value("OTEL_MCP_TARGETS", _text, None),
            spans=read.value("OTEL_MCP_SPANS", _boolean, True),
            capture_content=read.value("OTEL_MCP_CAPTURE_CONTENT", _boolean, False),
            sdk_disabled=read.value("OTEL_SDK_DISABLED", _otel_boolean, False),
            complaints=(*read.complaints, *_unknown(read.environ)),
        )


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.complaints: list[str] = []

    def value(self, name: str, parse: Callable[[str], T], default: T) -> T:
        raw = self.environ.get(name)
        if raw is None or not raw.strip():
            return default
        try:
            return parse(raw.strip())
        except ValueError as error:
            self.complaints.append(f"{name}={_shown(raw)!r} is not {error}; using {_default(default)} instead")
            return default

    def connectors(self, name: str) -> tuple[tuple[str, str], ...]:
        """The entries of the form name=glob; one complaint for those of another, which are left out."""
        entries = [entry.strip() for entry in (self.environ.get(name) or "").split(";") if entry.strip()]
        pairs = [(left.strip(), right.strip()) for left, _, right in (entry.partition("=") for entry in entries)]
        wrong = [number for number, pair in enumerate(pairs) if not all(pair)]
        if wrong:
            first = f"{name}: entry {wrong[0] + 1} ({_shown(entries[wrong[0]])!r})"
            rest = f"and {len(wrong) - 1} more are" if len(wrong) > 1 else "is"
            left_out = "they are left out" if len(wrong) > 1 else "it is left out"
            self.complaints.append(f"{first} {rest} not of the form name=glob; {left_out}")
        return tuple(pair for pair in pairs if all(pair))


def _unknown(environ: Mapping[str, str]) -> list[str]:
    names = [name for name in environ if name.startswith(_PREFIX) and name not in (*VARIABLES, *_OF_OUR_OWN)]
    if not names:
        return []
    from difflib import get_close_matches  # a slow import that hardly anybody needs

    sentences = []
    for name in sorted(names):
        near = get_close_matches(name, VARIABLES, n=1)
        meant = f"; is {near[0]} meant?" if near else ""
        sentences.append(f"{_shown(name)!r} is no variable of otel_mcp and has no effect{meant}")
    return sentences


def _shown(raw: str) -> str:
    return raw if len(raw) <= 80 else raw[:77] + "..."


def _default(value: object) -> str:
    if value is None:
        return "auto"  # of the hosts: no other variable whose default is None can be wrong
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text(raw: str) -> str | None:
    return raw


def _boolean(raw: str) -> bool:
    lowered = raw.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("true or false")


def _otel_boolean(raw: str) -> bool:
    # OpenTelemetry's environment rules: only a case-insensitive "true" is true; any word but "false" earns a line.
    if raw.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return raw.lower() == "true"


def _seconds(raw: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise ValueError("a positive number of seconds")
    return value


def _count(raw: str) -> int:
    try:
        value = int(raw)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError("a whole number of 0 or more")
    return value


def _hosts(raw: str) -> frozenset[str] | None:
    names = [part.strip().lower() for part in raw.split(",") if part.strip()]
    if names == ["auto"]:
        return None
    if names == ["none"]:
        return frozenset()
    if {"auto", "none"}.intersection(names):
        raise ValueError("a list of hook targets, for auto and none stand alone")
    if not names or any(not name.replace("_", "").replace("-", "").isalnum() for name in names):
        raise ValueError("auto, none or a comma-separated list of hook targets")
    return frozenset(name.replace("-", "_") for name in names)
