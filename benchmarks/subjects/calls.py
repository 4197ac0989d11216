"""A session whose calls are watched in one of the ways, doing calls when told to: ``calls.py WAY WHAT TRANSPORT``.

WAY is `bare`, `floor`, `bare_fastmcp` or one of `ways.py`; WHAT is `metrics`, `spans` or `both`; TRANSPORT `memory` or
`stdio`. It answers each number of calls with the processor time a call, in microseconds: of the loop's thread, and of
all threads.
"""

from __future__ import annotations

import sys
import time

import anyio
from channel import answer, questions
from floor import attributes, floor, watch_once
from transports import Call, calling, calling_by_fastmcp
from ways import WAYS, Sinks

_AFTERWARDS = 0.01
"""Seconds for what other threads still have to do for the calls. What they do every few seconds only, as exporting,
falls into one turn in ten."""


async def obey(call: Call) -> None:
    await call()
    answer("ready")
    for count in questions():
        loop, process = time.thread_time_ns(), time.process_time_ns()
        for _ in range(count):
            await call()
        loop = time.thread_time_ns() - loop
        time.sleep(_AFTERWARDS)  # noqa: ASYNC251 - nothing else is on this loop
        answer([loop / count / 1000, (time.process_time_ns() - process) / count / 1000])


async def main(way: str, what: str, transport: str) -> None:
    if way == "floor":
        kept, sinks = watch_once()
        async with calling(transport) as call:
            await call()
        carried = attributes(kept, sinks)
        async with calling(transport) as call:
            await obey(floor(call, what, carried))
        return
    if way in WAYS:
        WAYS[way](Sinks(), what)
    async with (calling_by_fastmcp if "fastmcp" in way else calling)(transport) as call:
        await obey(call)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:4])
