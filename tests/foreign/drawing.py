"""What hypothesis draws for what comes from outside."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SECRET = "s3cret"  # noqa: S105 - a marker to look for, no password
"""Stands in arguments, results and error texts, and may be found nowhere in what leaves."""

HOSTILE = (
    "",
    'quote" and \\',
    "two\nlines\r\n# HELP x y",
    "\u202edetrever\u202c",
    "nul\x00 bell\x07 \x1b[31m",
    "größe 日本 😀",
    "x" * 5_000,
    "\n" * 300,
    "_other",
    '{"otel_mcp": 1}',
    "</script><b>",
)

names = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Names that a server may choose: JSON in UTF-8 carries no lone surrogate."""
broken_names = names | st.text(max_size=12) | st.just("lone \udc80 surrogate")
"""Names that a caller may invent."""
numbers = st.sampled_from([-32000, -32001, 408, 32600, 0, 10**30, -(10**4200), 1.5]) | st.integers()
texts = names.map(lambda text: f"{SECRET} {text}")
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def mostly(usual: Any, other: Any = json) -> Any:
    """Fourteen times out of fifteen what one expects: enough of it for the rest to be reached."""
    return st.integers(0, 14).flatmap(lambda lot: other if lot == 0 else usual)
