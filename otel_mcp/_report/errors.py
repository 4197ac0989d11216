"""What can go wrong before there is a report, each with one sentence for the user."""

from __future__ import annotations


def nothing_of_ours(names: str, lines: int) -> str:
    """The sentence on files with `lines` lines of which none is of a call log."""
    return f"{names}: none of {lines:,} lines is of a call log (JSON Lines in UTF-8 with event and time)"


class ReportError(Exception):
    """A report cannot be made; the text says what happened, with which value, and what to do."""


class MissingExtra(ReportError):
    """A library of the extra `report` is not installed."""

    def __init__(self) -> None:
        super().__init__("otel-mcp report needs the extra `report`: pip install 'otel-mcp-client[report]'")


class Unreadable(ReportError):
    """A file cannot be read, or nothing in the files is a line of a call log."""


class BadOption(ReportError):
    """An option has a value that means nothing."""
