"""``otel-mcp doctor``: what is watched here, what is missing, what stands in the way."""

from __future__ import annotations

import argparse
import json

from otel_mcp._cli import doctor_hooks, doctor_limits, doctor_packages, doctor_peers, doctor_settings
from otel_mcp._cli.doctor_model import Section, to_json, to_text
from otel_mcp._start.notices import overheard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's own words."""
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--hosts", action="store_true", help="import the hosts that are installed and try their hooks")


def run(args: argparse.Namespace) -> int:
    """Exit code: 1 with findings, else 0."""
    with overheard():  # the start-up of this very process complains of what stands among the findings
        sections = examine(try_hosts=args.hosts)
    print(json.dumps(to_json(sections), indent=2) if args.json else to_text(sections))
    return 1 if any(section.findings for section in sections) else 0


def examine(*, try_hosts: bool = False) -> list[Section]:
    """Everything doctor looks at, in the order in which it is printed."""
    versions = doctor_packages.versions()
    return [
        versions,
        doctor_packages.start(),
        doctor_hooks.sdk_hooks(),
        doctor_hooks.hosts(try_them=try_hosts),
        doctor_peers.peers(versions.facts["mcp"]),
        doctor_settings.settings(),
        doctor_settings.exporters(),
        doctor_settings.files(),
        doctor_limits.limits(),
    ]
