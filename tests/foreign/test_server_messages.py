"""Whatever a server says: the program sees the same with us, and nothing that leaves is out of bounds.

The server is a stand-in over memory streams that says what hypothesis draws. A line that the SDK cannot parse arrives
as the exception that its transports hand over then.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
from foreign.drawing import SECRET, broken_names, mostly, names, numbers, texts
from foreign.drawing import json as any_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import ClientSession
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from stress.peer import _message

from harness import virtual
from harness.observing import described
from harness.sessions import call_tool, innermost, sdk_timeout
from otel_mcp import testing
from otel_mcp._ground import catalogue as c
from otel_mcp._ground.labels import MAX_SETS
from otel_mcp._ground.text import LONGEST
from otel_mcp._record.lines import encode

LIMIT = 30.0
"""Seconds until the program gives up on an answer that does not come."""
VERSIONS = ("2025-06-18", "2025-11-25", "2024-11-05")


@dataclass(frozen=True)
class Said:
    """The answers to one request, and what goes before them. ``id``: of the request, as text, or another one."""

    before: tuple[dict[str, Any], ...]
    id: str
    body: dict[str, Any]


def _fields(**drawn: Any) -> Any:
    meta = mostly(st.dictionaries(names, any_json, max_size=2))
    return st.fixed_dictionaries(drawn, optional={"_meta": meta, "otel_mcp": any_json})


_content = st.lists(mostly(_fields(type=st.just("text"), text=texts)), max_size=2)
RESULTS = {
    "initialize": _fields(
        protocolVersion=mostly(st.sampled_from(VERSIONS), names),
        capabilities=mostly(st.just({"tools": {}})),
        serverInfo=mostly(_fields(name=names, version=names)),
    ),
    "tools/list": _fields(
        tools=st.lists(
            mostly(
                _fields(
                    name=names,
                    inputSchema=mostly(st.just({"type": "object"})),
                    annotations=mostly(st.fixed_dictionaries({"readOnlyHint": mostly(st.booleans())})),
                )
            ),
            max_size=3,
        ),
        nextCursor=mostly(st.none()),
    ),
    "tools/call": _fields(content=mostly(_content), isError=mostly(st.booleans()), structuredContent=any_json),
    "prompts/get": _fields(messages=mostly(st.just([]))),
    "resources/read": _fields(contents=mostly(st.just([]))),
}
_errors = st.fixed_dictionaries({"code": mostly(numbers), "message": mostly(texts)}, optional={"data": any_json})
_unasked = st.one_of(
    st.fixed_dictionaries({"method": broken_names, "params": mostly(st.just({}))}),
    st.fixed_dictionaries({"method": names, "id": st.integers() | names, "params": any_json}),
    st.fixed_dictionaries({"id": st.integers() | names, "result": any_json}),
    st.fixed_dictionaries({"id": st.none() | st.integers(), "error": _errors}),
)


def _said(method: str) -> Any:
    body = st.one_of(
        st.fixed_dictionaries({"result": mostly(RESULTS[method])}),
        st.fixed_dictionaries({"result": mostly(RESULTS[method])}),
        st.fixed_dictionaries({"error": mostly(_errors)}),
    )
    return st.builds(
        Said,
        st.lists(_unasked, max_size=2).map(tuple),
        mostly(st.just("own"), st.sampled_from(["text", "other"])),
        body,
    )


@dataclass(frozen=True)
class Visit:
    """What the server says to each request, and what the program asks for."""

    answers: dict[str, Said]
    tool: str
    prompt: str


visits = st.builds(
    Visit, st.fixed_dictionaries({method: _said(method) for method in RESULTS}), broken_names, broken_names
)


async def serve(visit: Visit, read: Any, write: Any) -> None:
    async for item in read:
        message = getattr(item.message, "root", item.message)
        said = visit.answers.get(getattr(message, "method", ""))
        if said is None:
            continue
        for unasked in said.before:
            await write.send(_arriving(unasked))
        key = {"own": message.id, "text": str(message.id), "other": 10_000}[said.id]
        await write.send(_arriving({"id": key, **said.body}))


def _arriving(fields: dict[str, Any]) -> Any:
    try:
        return SessionMessage(_message({"jsonrpc": "2.0", **fields}))
    except Exception as error:
        return error


async def program(visit: Visit) -> list[Any]:
    """What each of the program's requests gave it, and what left the session."""
    gave: list[Any] = []

    async def note(awaitable: Awaitable[Any]) -> None:
        try:
            gave.append(repr((await awaitable).model_dump()))
        except Exception as error:
            gave.append(described(error))

    try:
        async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as tasks:
            tasks.start_soon(serve, visit, read, write)
            async with ClientSession(*client, read_timeout_seconds=sdk_timeout(LIMIT)) as session:
                await note(session.initialize())
                await note(session.list_tools())
                for _ in range(2):
                    await note(call_tool(session, visit.tool, {"key": SECRET}))
                await note(session.get_prompt(visit.prompt, {"key": SECRET}))
                await note(session.read_resource(f"notes://user:{SECRET}@host/x?token={SECRET}"))  # type: ignore[arg-type]
            tasks.cancel_scope.cancel()
    except Exception as error:
        gave.append(("left", *described(innermost(error))))
    return gave


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(visit=visits)
def test_whatever_a_server_says_the_program_sees_the_same_and_what_leaves_is_bounded_and_holds_no_content(
    visit: Visit,
) -> None:
    # Under virtual time: what is never answered costs no waiting, and what is answered is never late.
    plain = virtual.run("asyncio", program, visit)
    with testing.capture() as seen:
        watched = virtual.run("asyncio", program, visit)
    assert watched == plain
    what_leaves_is_fit_to_leave(seen)


def what_leaves_is_fit_to_leave(seen: testing.Capture) -> None:
    for row in c.INSTRUMENTS:
        points = seen.metric(row.name)
        assert len(points) <= MAX_SETS + 100
        for point in points:
            assert set(point.attributes) <= set(row.keys)
            _fit(point.attributes, is_label)
    for span in seen.spans:
        assert is_label(span.name.partition(" ")[2])
        _fit(span.attributes, is_attribute)
    for event in seen.events():
        line = encode(event.name, 0, event.connector, event.transport, {}, event.fields)
        assert len(line) <= c.MAX_LOG_LINE
        assert line.count(b"\n") == 1
        assert isinstance(json.loads(line), dict)
        assert SECRET not in line.decode()


def _fit(attributes: Any, fits: Callable[[str], bool]) -> None:
    for value in attributes.values():
        assert not isinstance(value, str) or (fits(value) and SECRET not in value), value


def is_label(text: str) -> bool:
    return text.isprintable() and len(text) <= LONGEST


def is_attribute(text: str) -> bool:
    return len(text) <= LONGEST and text == text.encode("utf-8", "ignore").decode()
