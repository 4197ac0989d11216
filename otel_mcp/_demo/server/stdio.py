"""The server on stdin and stdout: one JSON-RPC message a line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from typing import BinaryIO

from otel_mcp._demo.server.channel import Channel, Message
from otel_mcp._demo.server.dialogue import Dialogue
from otel_mcp._demo.server.faults import Fault


class StdioChannel(Channel):
    """Standard output, and a thread that reads standard input for as long as it may."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._loop = asyncio.get_running_loop()
        self._may_read = threading.Event()
        self._may_read.set()
        self._done = asyncio.Event()
        # Descriptor 1 belongs to the protocol; a stray print of the interpreter goes where nobody parses it.
        self._output: BinaryIO = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    async def serve(self) -> None:
        """Returns when the client has closed our standard input."""
        threading.Thread(target=self._read, daemon=True).start()
        await self._done.wait()

    async def send(self, message: Message) -> None:
        self._write(json.dumps(message))

    async def noise(self, text: str) -> None:
        self._write(text)

    async def misbehave(self, fault: Fault) -> bool:
        if fault.do == "close":
            self._output.close()
            return True
        if fault.do == "drop":
            self._dialogue.exit(int(fault.value or 1))
        if fault.do == "noise":
            await self.noise("Traceback (most recent call last): not really")
        return False

    def stop_reading(self) -> None:
        self._may_read.clear()

    def _write(self, line: str) -> None:
        try:
            self._output.write(line.encode() + b"\n")
        except (OSError, ValueError):
            return  # the client has gone, or a fault has closed the pipe

    def _read(self) -> None:
        # One thread, one message at a time: a tool that stops the reading stops it before the next line.
        for line in sys.stdin.buffer:
            asyncio.run_coroutine_threadsafe(self._take(line), self._loop).result()
            self._may_read.wait()
        self._loop.call_soon_threadsafe(self._done.set)

    async def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        task = await self._dialogue.receive(message, self)
        if task is not None:
            await asyncio.sleep(0)  # lets the request's task begin, and with it decide whether we go on reading
