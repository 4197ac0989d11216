"""`otel-mcp dashboards --out DIR`: writes the dashboards, the rules, their runbooks and example configurations."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
_RUNBOOK = re.compile(r"(runbook_url: )(runbooks/)")
_DASHBOARD = re.compile(r"(dashboard_url: )(/d/)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where to write; files there are replaced"
    )
    parser.add_argument("--grafana-url", default="", metavar="URL", help="put before the dashboard links of alerts")
    parser.add_argument("--runbook-url", default="", metavar="URL", help="put before the runbook links of alerts")


def run(arguments: argparse.Namespace) -> int:
    """Writes everything. Returns 0, or 2 if the folder cannot be written."""
    try:
        written = [_write(arguments, name, source) for name, source in sorted(sources())]
    except OSError as refused:
        print(f"Cannot write to {arguments.out}: {refused}. Name a folder that you may write to.", file=sys.stderr)
        return 2
    print(f"Wrote {len(written)} files to {arguments.out}:")
    for name in written:
        print(f"  {name}")
    return 0


def sources() -> Iterator[tuple[str, Path]]:
    """(path below the output folder, file): in a wheel from the package, in a checkout from where they are built."""
    checkout = PACKAGE.parents[1]
    shipped = (PACKAGE / "built", PACKAGE / "runbooks")
    built, runbooks = (
        shipped if shipped[0].is_dir() else (checkout / "dashboards" / "built", checkout / "docs" / "runbooks")
    )
    for root, below in ((built, ""), (runbooks, "runbooks/")):
        for file in root.rglob("*"):
            if file.is_file():
                yield below + file.relative_to(root).as_posix(), file


def _write(arguments: argparse.Namespace, name: str, source: Path) -> str:
    text = source.read_text("utf-8")
    if name.startswith("rules/"):
        text = _RUNBOOK.sub(rf"\g<1>{_prefix(arguments.runbook_url)}\g<2>", text)
        text = _DASHBOARD.sub(rf"\g<1>{arguments.grafana_url.rstrip('/')}\g<2>", text)
    target = arguments.out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return name


def _prefix(url: str) -> str:
    return f"{url.rstrip('/')}/" if url else ""
