"""Text from outside made harmless: tool names that servers choose, error texts, values of variables."""

from __future__ import annotations

import re
from typing import Final

_UP_TO_HOST: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", re.DOTALL)
"""A password may hold what ends a host, unescaped: that is how it came to be a bad URL."""

LONGEST: Final = 200
"""Characters of a label or an attribute. Nobody reads a longer name, and everybody would have to carry it."""


def short(text: str) -> str:
    """At most 200 characters, all of which an exporter can encode: a server's name for a tool may be a megabyte."""
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    if text.isascii():
        return text
    # A lone surrogate has no UTF-8 form: it would cost the whole batch that it is sent in.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def visible(text: str) -> str:
    r"""One line of printable characters.

    Line breaks, control characters, marks that turn the direction of writing and lone surrogates become their escapes:
    ``\u000a``, ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def label(text: str) -> str:
    """Both: fit for the label of a metric, the name of a span and the middle of a log line."""
    return short(visible(text[: LONGEST + 1]))


def without_secrets(url: str) -> str:
    """A URL, or what was meant to be one, without user, password, query and fragment; fit for a line on stderr."""
    return label(_UP_TO_HOST.sub(r"\1", url).partition("?")[0].partition("#")[0])
