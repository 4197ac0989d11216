"""Which versions of the MCP SDK the suite runs with."""

from __future__ import annotations

from typing import Final

LOWEST: Final = (1, 19)
ABOVE: Final = 3


def is_supported(version: str) -> bool:
    """Whether the suite runs with this version of the SDK, or with one on either side of it."""
    parts = version.split(".")[:2]
    if not all(part.isdigit() for part in parts):
        return True  # a version of somebody's own: the patch points say more
    numbers = tuple(map(int, parts))
    return numbers >= LOWEST and numbers[0] < ABOVE
