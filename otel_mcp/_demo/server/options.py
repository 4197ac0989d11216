"""The command line of the misbehaving server."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields

from otel_mcp._demo.server.faults import BadFault, Fault, parse


@dataclass(frozen=True)
class Options:
    """Everything a server is told at its start; times in seconds."""

    name: str = "faulty"
    http: bool = False
    port: int = 0
    json_answers: bool = False
    get_stream: bool = True
    modern: bool = False
    modern_only: bool = False
    serial: bool = False
    any_tool: bool = False
    extra_tools: int = 0
    cold_start: float = 0.0
    life: float | None = None
    exit_at_start: int | None = None
    require_token: bool = False
    token_delay: float = 0.0
    token_uses: int | None = None
    count_file: str | None = None
    faults: tuple[Fault, ...] = ()


def arguments(options: Options) -> list[str]:
    """The command line that :func:`read` turns into ``options``."""
    given: list[str] = []
    for entry in fields(Options):
        value = getattr(options, entry.name)
        flag = "--" + entry.name.replace("_", "-")
        if entry.name == "faults":
            given += [part for fault in value for part in ("--fault", fault.argument())]
        elif entry.name == "get_stream":
            given += [] if value else ["--no-get-stream"]
        elif isinstance(value, bool):
            given += [flag] if value else []
        elif value != entry.default:
            given += [flag, str(value)]
    return given


def _fault(text: str) -> Fault:
    try:
        return parse(text)
    except BadFault as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def read(given: Sequence[str] | None = None) -> Options:
    """The options in the command line ``given`` (``None``: this process's own)."""
    parser = argparse.ArgumentParser(prog="faulty", description="An MCP server that misbehaves on request.")
    add = parser.add_argument
    add("--name", default="faulty", help="serverInfo.name")
    add("--http", action="store_true", help="streamable HTTP and SSE on loopback; without it, stdio")
    add("--port", type=int, default=0, help="0: a free one; its address is the first line on stdout")
    add("--json-answers", action="store_true", help="HTTP: plain JSON answers instead of event streams")
    add("--no-get-stream", dest="get_stream", action="store_false", help="HTTP: 405 to the client's GET stream")
    add("--modern", action="store_true", help="answer server/discover (protocol revision 2026-07-28) too")
    add("--modern-only", action="store_true", help="as --modern, and refuse initialize")
    add("--serial", action="store_true", help="one request at a time: a ping waits for an open call")
    add("--any-tool", action="store_true", help="answer every tool name")
    add("--extra-tools", type=int, default=0, help="so many further tools in tools/list")
    add("--cold-start", type=float, default=0.0, help="seconds before the first byte is read")
    add("--life", type=float, help="seconds after which the process exits")
    add("--exit-at-start", type=int, help="exit at once with this code")
    add("--require-token", action="store_true", help="HTTP: 401 without a bearer token of this server")
    add("--token-delay", type=float, default=0.0, help="HTTP: seconds that /token takes")
    add("--token-uses", type=int, help="HTTP: requests after which a token is no longer good")
    add("--count-file", help="where the counters are kept as JSON; {pid} becomes the process id")
    add("--fault", dest="faults", type=_fault, action="append", default=[], help="e.g. do=status,value=401,after=3")
    values = vars(parser.parse_args(given))
    values["faults"] = tuple(values["faults"])
    values["modern"] = values["modern"] or values["modern_only"]
    return Options(**values)
