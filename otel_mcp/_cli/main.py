"""``otel-mcp``: one subcommand a module, imported only when it is chosen.

A subcommand's module has ``add_arguments(parser)`` and ``run(args) -> int``, which returns the exit code: 0 fine,
1 findings, 2 usage or unreadable input.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final

from otel_mcp._ground.commands import write_no_more
from otel_mcp._version import __version__

USAGE_ERROR: Final = 2

SUBCOMMANDS: Final = {
    "run": "watch a program: otel-mcp run -- CMD ARGS…",
    "demo": "a minute with real servers, one of each fault, and what it looks like",
    "doctor": "what is watched here, what is missing, what stands in the way",
    "top": "the live state of a running agent, from its endpoint or call log",
    "report": "when, where and why calls ran out of time, from the call log",
    "dashboards": "write the Grafana dashboards and the Prometheus rules to a folder",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    code = 0
    try:
        try:
            code = _command(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            # Here a reader that has gone (`otel-mcp doctor | head`) is no fault; at Python's own exit it would be 120.
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        write_no_more()
    return code


def _command(words: list[str]) -> int:
    parser = _parser(_chosen(words))
    args = parser.parse_args(words)
    if args.subcommand is None:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    code: int = importlib.import_module(f"otel_mcp._cli.{args.subcommand}").run(args)
    return code


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otel-mcp", description="OpenTelemetry for programs that call MCP servers.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"otel-mcp-client {__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND")
    for name, summary in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name == chosen:
            importlib.import_module(f"otel_mcp._cli.{name}").add_arguments(subparser)
    return parser


def _chosen(words: Sequence[str]) -> str | None:
    first = next((word for word in words if not word.startswith("-")), None)
    return first if first in SUBCOMMANDS else None


if __name__ == "__main__":
    sys.exit(main())
