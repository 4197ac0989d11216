"""``PYTHONPATH=tests python -m coexistence [NAME …]``; ``make test-coexistence`` calls it. As the hosts' tests run."""

from __future__ import annotations

import sys
from pathlib import Path

from hosts.__main__ import main

if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
