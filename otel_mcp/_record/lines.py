"""One record of the call log as one line of JSON, never longer than `MAX_LOG_LINE` bytes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from otel_mcp._ground.catalogue import LOG_COMMON, LOG_SCHEMA, MAX_LOG_LINE

Fields = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""An event's own fields, or what computes them later, off the caller's thread."""

_ELLIPSIS: Final = "…"
_SHORTEST_TEXT: Final = 24
"""Characters below which a text is no longer shortened: an id or an outcome has to stay readable."""
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DIGITS: Final = 6
"""Microseconds: finer digits of a duration are noise and cost bytes."""


def encode(
    event: str,
    time_ns: int,
    connector: str | None,
    transport: str | None,
    common: Mapping[str, object],
    fields: Fields,
) -> bytes:
    """The record as UTF-8 JSON with its newline, at most `MAX_LOG_LINE` bytes.

    Where it would be longer, the longest texts are shortened (they end in ``…``), then long lists lose their tail,
    then the largest fields are left out. The common fields always stay.
    """
    record: dict[str, object] = {"schema": LOG_SCHEMA, "event": event, "time": rfc3339(time_ns), **common}
    record["connector"] = connector
    record["transport"] = transport
    for key, value in (fields() if callable(fields) else fields).items():
        record[key] = _plain(value)
    line = _dump(record)
    if len(line) > MAX_LOG_LINE:
        line = _fit(record)
    return line


def rfc3339(time_ns: int) -> str:
    """Nanoseconds since 1970 as RFC 3339 in UTC, to the millisecond."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03d}Z"


def _plain(value: object) -> object:
    """What JSON can say; an unknown or infinite number is null."""
    if isinstance(value, str):
        return str(value)  # an Outcome is a str enum, and json would print it as its value only by luck
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return round(value, _DIGITS) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return str(value)


def _dump(record: Mapping[str, object]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A broken peer's name, or a byte in a path. JSON's own escape for it would make readers refuse the whole line,
        # so what stands there is the text of the escape, as in labels.
        return _LONE_SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode() + b"\n"


def _fit(record: dict[str, object]) -> bytes:
    line = _dump(record)
    while len(line) > MAX_LOG_LINE:
        if not (_shorten_text(record, len(line) - MAX_LOG_LINE) or _shorten_list(record) or _drop_largest(record)):
            break
        line = _dump(record)
    return line


def _shorten_text(record: dict[str, object], excess: int) -> bool:
    texts = [key for key, value in record.items() if isinstance(value, str) and len(value) > _SHORTEST_TEXT]
    if not texts:
        return False
    longest = max(texts, key=lambda key: len(str(record[key])))
    text = str(record[longest])
    # A character is 1 to 6 bytes here, so the excess in bytes is at most that many characters: halving the text
    # at the most keeps the loop short without cutting far too much of a text in a wide script.
    record[longest] = text[: max(_SHORTEST_TEXT - 1, len(text) - excess - 4, len(text) // 2)] + _ELLIPSIS
    return len(str(record[longest])) < len(text)


def _shorten_list(record: dict[str, object]) -> bool:
    lists = [key for key, value in record.items() if isinstance(value, (list, dict)) and len(value) > 1]
    if not lists:
        return False
    longest = max(lists, key=lambda key: len(_dump({key: record[key]})))
    value = record[longest]
    if isinstance(value, dict):
        record[longest] = dict(list(value.items())[: len(value) // 2])
    elif isinstance(value, list):
        record[longest] = value[: len(value) // 2]
    return True


def _drop_largest(record: dict[str, object]) -> bool:
    droppable = [key for key in record if key not in LOG_COMMON]
    if not droppable:
        return False
    largest = max(droppable, key=lambda key: len(_dump({key: record[key]})))
    del record[largest]
    return True
