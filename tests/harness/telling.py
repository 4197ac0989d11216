"""What a program is told by a host, in a form that two runs can be compared in."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

_CHANGING = re.compile(r"0x[0-9a-f]+|127\.0\.0\.1:\d+|/tmp/\S+|Client-[0-9a-f]{4}|\b[0-9a-f]{32}\b|lc_[0-9a-f-]{36}")


async def told(call: Callable[[], Awaitable[Any]]) -> tuple[str, str]:
    """Type and text of the result or of the exception; addresses of objects and ports are left out."""
    try:
        result = await call()
    except Exception as error:
        return f"raised {type(error).__module__}.{type(error).__qualname__}", _CHANGING.sub("…", str(error))
    return type(result).__qualname__, _CHANGING.sub("…", repr(result))


def told_at_once(call: Callable[[], Any]) -> tuple[str, str]:
    """``told`` for a host that blocks its caller."""
    try:
        result = call()
    except Exception as error:
        return f"raised {type(error).__module__}.{type(error).__qualname__}", _CHANGING.sub("…", str(error))
    return type(result).__qualname__, _CHANGING.sub("…", repr(result))
