"""``PYTHONPATH=tests python benchmarks [NAME …] [--quick] [--long] [--here]``; ``make bench`` calls it."""

from __future__ import annotations

import argparse
import sys

import page
from bench import Bench
from environments import Here, Made


def main() -> int:
    """0 when everything that was asked for has been printed or written, 2 for a name that there is not."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(page.SECTIONS)}; printed. Without one: all, written")
    parser.add_argument("--quick", action="store_true", help="a look at every benchmark; the figures mean nothing")
    parser.add_argument("--long", action="store_true", help="a million calls where memory is measured: minutes more")
    parser.add_argument("--write", action="store_true", help="what is named goes into the page and is not printed")
    parser.add_argument("--here", action="store_true", help="in this Python's environment, without peers")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - page.SECTIONS.keys())
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(page.SECTIONS)}", file=sys.stderr)
        return 2
    bench = Bench(Here() if given.here else Made(), given.quick, given.long)
    if given.write or not given.names:
        page.write(bench, given.names)
        return 0
    for name in given.names:
        print(page.section(name, bench), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
