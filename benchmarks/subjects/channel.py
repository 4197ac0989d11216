"""How a subject talks with `turns.py`: one line in, one line of JSON out.

The answers go out by a descriptor of their own, because a program under observation may print.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def answer(value: Any) -> None:
    """Says something to whoever asks the questions."""
    print(json.dumps(value), file=_answers, flush=True)


def questions() -> Iterator[Any]:
    """The questions, until nobody asks any more."""
    for line in sys.stdin:
        yield json.loads(line)
