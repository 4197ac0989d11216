"""The misbehaving server as a program: ``python -m otel_mcp._demo.faulty --help``."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Sequence

from otel_mcp._demo.server.dialogue import Dialogue
from otel_mcp._demo.server.http import HttpServer
from otel_mcp._demo.server.options import Options, read
from otel_mcp._demo.server.stdio import StdioChannel


async def serve(options: Options) -> None:
    """Runs the server until its client, its options or a signal end it."""
    dialogue = Dialogue(options)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, dialogue.exit, 0)
    if options.life is not None:
        loop.call_later(options.life, dialogue.exit, 0)
    if options.http:
        await HttpServer(dialogue, options).serve()
    else:
        await StdioChannel(dialogue).serve()
    dialogue.exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code; faults may end the process before that."""
    options = read(arguments)
    if options.exit_at_start is not None:
        return options.exit_at_start
    time.sleep(options.cold_start)
    asyncio.run(serve(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
