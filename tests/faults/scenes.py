"""What breaks, scene by scene. A scene does to itself what it can; the rest is done by the test at a mark."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from faults.program import Way, say, scene, servers
from mcp import ClientSession
from stress.peer import connected

from harness.sessions import LOCAL_TIMEOUT_CODE, call_tool, error_code, is_error

LIMIT = 0.3
"""Seconds."""


@scene
async def server_killed(way: Way) -> None:
    async with way.session() as session:
        await way.calls(session, 3)
        cut = await way.open_call(session)
        os.kill(servers()[0], signal.SIGKILL)
        await way.show(cut)
    async with way.session() as session:
        await way.calls(session, 3)


@scene
async def server_stopped(way: Way) -> None:
    async with way.session() as session:
        await way.calls(session, 3)
        os.kill(servers()[0], signal.SIGSTOP)
        await way.calls(session, 2, timeout=LIMIT)
        os.kill(servers()[0], signal.SIGCONT)
        await way.calls(session, 3)


@scene
async def agent_stopped(way: Way) -> None:
    """The test lets it go on."""
    async with way.session() as session:
        await way.calls(session, 3)
        slow = asyncio.create_task(call_tool(session, "slow", {"seconds": 0.1}))
        await way.calls(session, 1)
        say(mark="stopped")
        os.kill(os.getpid(), signal.SIGSTOP)
        await way.show(slow)
        await way.calls(session, 3)


@scene
async def out_of_descriptors(way: Way) -> None:
    """No descriptor is left: no new session, no new file, and no scrape; the session that is open goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with way.session() as session:
        taken: list[int] = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        await way.calls(session, 20)
        try:
            async with way.session():
                say(call="a second session was opened")
        except BaseException as error:
            say(call=type(error).__name__)
        await asyncio.sleep(0.5)  # the call log's thread has tried to write
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await way.calls(session, 3)


class _Capturing(ClientSession):
    """Keeps a copy of the context in which each of its requests is made."""

    seen: list[contextvars.Context]

    async def send_request(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(contextvars.copy_context())
        return await super().send_request(*args, **kwargs)


@scene
async def copied_contexts(way: Way) -> None:
    """Calls in copies of contexts: of an ended call, of an open one, and in another thread."""
    mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine")
    mine.set("kept")
    way.session_class = _Capturing
    _Capturing.seen = []
    loop = asyncio.get_running_loop()
    async with way.session() as session:
        await way.calls(session, 1)
        opened = await way.open_call(session)
        for context in list(_Capturing.seen):
            task = context.run(loop.create_task, call_tool(session, "echo", {"text": "copied"}))
            await way.show(task)
            say(call=context.run(mine.get, "lost"))

        def elsewhere() -> Any:
            return asyncio.run_coroutine_threadsafe(call_tool(session, "echo", {"text": "thread"}), loop).result()

        await way.show(asyncio.to_thread(contextvars.copy_context().run, elsewhere))
        opened.cancel()
        await asyncio.wait([opened])
    say(call=mine.get())


@scene
async def abandoned_generators(way: Way) -> None:
    """A generator that holds a session is dropped in the middle, and so is a call that nobody finishes."""
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, details: complaints.append(details["message"]))

    async def opened() -> AsyncIterator[ClientSession]:
        async with way.session() as session:
            yield session

    async with way.session() as session:
        begun = call_tool(session, "hang")
        with contextlib.suppress(StopIteration):
            begun.send(None)
        begun.close()
        await way.calls(session, 3)

    async def drop_it() -> None:
        generator: Any = opened()
        await way.calls(await anext(generator), 3)
        del generator
        gc.collect()
        await asyncio.sleep(0.3)

    # A task of its own: leaving the generator's cancel scope from elsewhere cancels the task that has entered it.
    dropping = asyncio.create_task(drop_it())
    await asyncio.wait([dropping])
    say(call=dropping.cancelled())
    say(call=sorted({complaint.partition("<")[0] for complaint in complaints}))
    async with way.session() as session:
        await way.calls(session, 3)


@scene
async def hundreds_of_sessions(way: Way) -> None:
    """Ten at a time, one call each.

    With a stand-in for a server over the SDK's memory streams: a real one takes longer to open than the session does.
    """
    many = int(way.config["sessions"])
    gate = asyncio.Semaphore(10)
    gave: Counter[str] = Counter()

    async def visit() -> None:
        async with gate, connected("ok", way.name) as streams, ClientSession(*streams) as session:
            await session.initialize()
            result = await session.call_tool("ok", {})
            gave["error" if is_error(result) else "answer"] += 1

    began = time.monotonic()
    await asyncio.gather(*(visit() for _ in range(many)))
    say(rate=many / (time.monotonic() - began))
    say(call=gave)


@scene
async def handler_calls_in(way: Way) -> None:
    """A signal handler that asks for statistics, and tells of a call, every five milliseconds."""
    import otel_mcp
    from otel_mcp import hooks

    otel_mcp.statistics()  # what is imported inside a handler may be imported in the very code that it interrupts
    ran, running = 0, False

    def handler(*_: object) -> None:
        nonlocal ran, running
        if running:
            return
        running = True
        otel_mcp.statistics()
        with hooks.call("handler", tool="told"):
            ran += 1
        running = False

    before = signal.signal(signal.SIGALRM, handler)
    async with way.session() as session:
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        try:
            await way.calls(session, 100)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    say(handled=ran)


class Alarm(Exception):
    """Raised by a signal handler, as programs that bound something by SIGALRM do."""


@scene
async def handler_raises(way: Way) -> None:
    """The signal arrives while somebody who watches the call is at work."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    raised = seen = 0

    def handler(*_: object) -> None:
        nonlocal raised
        raised += 1
        raise Alarm

    class Interrupting(SpanProcessor):
        armed = ""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            self._interrupt("start")

        def on_end(self, span: Any) -> None:
            self._interrupt("end")

        def _interrupt(self, moment: str) -> None:
            if self.armed == moment:
                self.armed = ""
                signal.raise_signal(signal.SIGUSR1)

    interrupting = Interrupting()
    provider = TracerProvider()
    provider.add_span_processor(interrupting)
    trace.set_tracer_provider(provider)
    before = signal.signal(signal.SIGUSR1, handler)
    async with way.session() as session:
        for moment in ("start", "end") * 3:
            interrupting.armed = moment
            try:
                await call_tool(session, "echo", {})
            except Alarm:
                seen += 1
        interrupting.armed = ""
        say(alarms=[raised, seen])
        await way.calls(session, 3)
    signal.signal(signal.SIGUSR1, before)


@scene
async def disk_full(way: Way) -> None:
    """A file takes what room there is, and goes again."""
    async with way.session() as session:
        await way.calls(session, 5)
        await way.pause("before")
        filler = Path(way.config["disk"]) / f"filler-{os.getpid()}"
        _fill(filler)
        await way.calls(session, 20)
        await way.pause("full")
        filler.unlink()
        await way.calls(session, 5)


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(b"x" * size)


@scene
async def clock_jumps(way: Way) -> None:
    """A day forward, two days back; the test's library reads the offset from a file."""
    async with way.session() as session:
        for jump in ("+0", "+86400", "-86400"):
            set_clock(way.config["clock"], jump)
            await way.calls(session, 3)
            await way.calls(session, 1, timeout=30)
            await way.show(asyncio.wait_for(call_tool(session, "hang"), LIMIT))


def set_clock(file: str, offset: str) -> None:
    Path(file).write_text(offset)
    say(clock=time.time())


@contextlib.asynccontextmanager
async def in_mid_call(way: Way) -> AsyncIterator[None]:
    """Ten calls, which the test waits for; then a call that stays open, and four beside it."""
    async with way.session() as session:
        await way.calls(session, 10)
        await way.pause("ten")
        await way.open_call(session)
        await way.calls(session, 4)
        yield


@scene
async def killed(way: Way) -> None:
    """The test kills it, with a call open."""
    async with in_mid_call(way):
        await way.pause("kill me")


@scene
async def exits_at_once(way: Way) -> None:
    async with in_mid_call(way):
        say(end=os.getpid())
        os._exit(7)


@scene
async def ends_in_mid_call(way: Way) -> None:
    """The main thread comes to its end while a daemon thread's loop is in the middle of a call."""
    ready = threading.Event()

    async def work() -> None:
        async with way.session() as session:
            await way.calls(session, 5)
            await way.open_call(session)
            ready.set()
            await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(work()), daemon=True).start()
    await asyncio.to_thread(ready.wait)


@scene
async def workers(way: Way) -> None:
    """Processes forked and spawned by one that has made calls itself."""
    import multiprocessing

    async with way.session() as session:
        await way.calls(session, 2)
    pool: list[Any] = [
        multiprocessing.get_context(method).Process(target=_work, args=(way.config, method))
        for method in ("fork", "spawn")
    ]
    for process in pool:
        process.start()
    for process in pool:
        await asyncio.to_thread(process.join)
    say(call=[process.exitcode for process in pool])


def _work(config: dict[str, Any], name: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # lines of several processes would mix

    async def play() -> None:
        way = Way(config, name)
        async with way.session() as session:
            await way.calls(session, 3)

    if asyncio._get_running_loop() is not None:
        asyncio._set_running_loop(None)  # forked from inside a running loop, as pools often are
    asyncio.run(play())


@scene
async def works_on(way: Way) -> None:
    """The test stops and kills what receives the telemetry."""
    async with way.session() as session:
        await way.calls(session, 5)
        for mark in way.config["marks"]:
            await way.pause(mark)
            await way.calls(session, 20)


@scene
async def under_fire(way: Way) -> None:
    """Three callers work for a while, whatever happens to their servers; a test makes it happen."""
    say(mark="begun")
    until = time.monotonic() + way.config["seconds"]
    gave: Counter[str] = Counter()

    async def caller() -> None:
        while time.monotonic() < until:
            try:
                async with way.session() as session:
                    await _until_lost(session, gave, until)
            except Exception:
                gave["no session"] += 1

    await asyncio.gather(*(caller() for _ in range(3)))
    say(gave=gave)
    await way.pause("look")


async def _until_lost(session: Any, gave: Counter[str], until: float) -> None:
    while time.monotonic() < until:
        try:
            await call_tool(session, "echo", {}, timeout=LIMIT)
        except asyncio.CancelledError:
            gave["lost"] += 1  # by the transport, on 1.x
            raise
        except Exception as error:
            limit = error_code(error) == LOCAL_TIMEOUT_CODE
            gave["time limit" if limit else "lost"] += 1
            if not limit:
                return
        else:
            gave["answer"] += 1
        await asyncio.sleep(0.005)
