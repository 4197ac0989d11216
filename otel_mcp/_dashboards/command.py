"""`otel-mcp dashboards --out DIR`: writes the dashboards, the rules, their runbooks and example configurations."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from otel_mcp._ground.commands import named_folder

PACKAGE: Final = Path(__file__).parent
_RUNBOOK = re.compile(r"(runbook_url: )(runbooks/)")
_DASHBOARD = re.compile(r"(dashboard_url: )(/d/)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=named_folder, required=True, metavar="DIR", help="where to write; files there are replaced"
    )
    parser.add_argument(
        "--grafana-url", type=_url("https://grafana.example"), metavar="URL", help="put before alerts' dashboard links"
    )
    parser.add_argument(
        "--runbook-url", type=_url("https://wiki.example/mcp"), metavar="URL", help="put before alerts' runbook links"
    )


def _url(example: str) -> Callable[[str], str]:
    def checked(given: str) -> str:
        if re.fullmatch(r"https?://[^\s/]\S*", given) is None:
            raise argparse.ArgumentTypeError(f"{given!r} is not a URL like {example}")
        return given.rstrip("/")

    return checked


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
        if arguments.runbook_url:
            text = _RUNBOOK.sub(lambda found: f"{found[1]}{arguments.runbook_url}/{found[2]}", text)
        if arguments.grafana_url:
            text = _DASHBOARD.sub(lambda found: f"{found[1]}{arguments.grafana_url}{found[2]}", text)
    target = arguments.out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return name
