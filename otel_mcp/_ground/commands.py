"""What the commands have in common: a folder that is named, and a reader of the output that goes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def named_folder(given: str) -> Path:
    """The type of an option that names a folder.

    Raises:
        argparse.ArgumentTypeError: it is empty; a Path would take that for the current folder.
    """
    if not given.strip():
        raise argparse.ArgumentTypeError(f"{given!r} names no folder; '.' is the current one")
    return Path(given)


def write_no_more() -> None:
    """After a BrokenPipeError: nobody reads stdout any more (`| head`), and Python would complain again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
