"""`python -m otel_mcp._report`: the report by itself."""

from __future__ import annotations

import argparse
import sys

from otel_mcp._report.command import add_arguments, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="otel-mcp report")
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
