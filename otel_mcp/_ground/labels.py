"""The label budget: what may become a label value, and what is folded into ``_other``.

Kept by us and not by the SDK, because the SDK's limit of 2,000 attribute sets drops *all* labels of what comes after.
Servers choose tool names, callers invent them, and error codes are free numbers: each has a budget here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from otel_mcp._ground import names as n
from otel_mcp._ground.text import label as fit
from otel_mcp._ground.verdicts import FIXED_ERROR_TYPES

MAX_CONNECTORS: Final = 200
MAX_METHODS: Final = 8
MAX_LOCKS: Final = 5
MAX_ERROR_TYPES: Final = 16
MAX_NAME: Final = 1000
"""Characters. A longer name of a tool is kept nowhere and gets no label of its own: a server may send a megabyte."""
MAX_SETS: Final = 1700
"""Attribute sets an instrument may gather before further ones are folded; with the folded ones it stays below 1,800."""

_PROTOCOL: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_PROTOCOLS: Final = 8

V = TypeVar("V")
Key = tuple[Any, ...]


class Labels:
    """Budgets of one process. Thread-safe; a value that was given a label keeps it."""

    def __init__(self, tool_labels: int = 200) -> None:
        self.tool_labels = tool_labels
        self._lock = threading.RLock()
        self._tools: dict[tuple[str, str], str] = {}
        self._methods: dict[tuple[str, str], str] = {}
        self._locks: dict[tuple[str, str], str] = {}
        self._errors: set[str] = set()
        self._protocols: set[str] = set()
        self.folded: dict[str, int] = {}

    def fold(self, label: str) -> str:
        """Count one folded value; returns ``_other``."""
        with self._lock:
            self.folded[label] = self.folded.get(label, 0) + 1
        return n.OTHER

    def known_tool(self, connector: str, tool: str) -> str | None:
        """The label of a tool or prompt that has one already."""
        return self._tools.get((connector, tool))

    def tool(self, connector: str, tool: str, *, proven: bool) -> str:
        """The label of a tool or prompt; `proven` says that the connector listed it or answered it without error."""
        known = self._tools.get((connector, tool))
        if known is not None:
            return known
        if proven and len(tool) <= MAX_NAME:
            with self._lock:
                if len(self._tools) < self.tool_labels:
                    return self._tools.setdefault((connector, tool), fit(tool))
        return self.fold(n.GEN_AI_TOOL_NAME)

    def method(self, connector: str, method: str) -> str:
        """The label of a JSON-RPC method."""
        return self._bounded(self._methods, connector, method, MAX_METHODS) or self.fold(n.MCP_METHOD_NAME)

    def method_asked(self, connector: str, method: str) -> str:
        """The same for who asks again and again, as a gauge does: nothing is counted as folded."""
        return self._bounded(self._methods, connector, method, MAX_METHODS) or n.OTHER

    def lock(self, connector: str, name: str) -> str:
        """The label of a lock's name."""
        return self._bounded(self._locks, connector, name, MAX_LOCKS) or self.fold(n.LOCK_NAME)

    def _bounded(self, given: dict[tuple[str, str], str], connector: str, value: str, most: int) -> str | None:
        key = (connector, value)
        known = given.get(key)
        if known is None:
            with self._lock:
                if sum(1 for owner, _ in given if owner == connector) >= most:
                    return None
                known = given.setdefault(key, fit(value))
        return known

    def error_type(self, value: str) -> str:
        """The label of an error type; beyond the budget OpenTelemetry's own ``_OTHER``."""
        value = fit(value)
        if value in FIXED_ERROR_TYPES or value in self._errors:
            return value
        with self._lock:
            if len(self._errors) < MAX_ERROR_TYPES:
                self._errors.add(value)
                return value
        self.fold(n.ERROR_TYPE)
        return n.ERROR_OTHER

    def protocol(self, value: str) -> str:
        """The label of a protocol version, which a server could invent."""
        if value in self._protocols:
            return value
        with self._lock:
            if _PROTOCOL.fullmatch(value) and len(self._protocols) < _MAX_PROTOCOLS:
                self._protocols.add(value)
                return value
        return self.fold(n.MCP_PROTOCOL_VERSION)


class Sets(Generic[V]):
    """What an instrument keeps by attribute set, bounded: a cache of attribute dicts, or of counts."""

    def __init__(self, labels: Labels, most: int = MAX_SETS) -> None:
        self._labels = labels
        self._most = most
        self.values: dict[Key, V] = {}

    def get(self, key: Key, folded: Key, make: Callable[[Key], V]) -> V:
        """The value of `key`, made on first use; of `folded` once the budget is spent."""
        value = self.values.get(key)
        if value is None:
            if len(self.values) >= self._most:
                self._labels.fold("set")
                key = folded
                value = self.values.get(key)
                if value is not None:
                    return value
            value = self.values.setdefault(key, make(key))
        return value
