"""Names of connectors from command lines and URLs, files of others in the targets folder, callers' own `_meta`."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import anyio
import pytest
from foreign.drawing import SECRET, names
from foreign.drawing import json as any_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import ClientSession
from stress.peer import connected

from otel_mcp import testing
from otel_mcp._ground import targets
from otel_mcp._record.spans import safe_uri
from otel_mcp._start.targets import Target

HOST = "host.example"
words = (
    st.sampled_from(("npx", "uvx", "python", "-m", "-y", "docker", "run", "--", "sh", "-c", "server.py")) | st.text()
)
carriers = st.sampled_from(
    ("https://{0}@{1}/x", "git+https://u:{0}@{1}/x/tool.git", "postgresql://u:{0}@{1}", "x://{0}@{1}/?token={0}")
)


@given(st.lists(words, max_size=4), carriers, st.lists(words, max_size=2))
def test_no_connector_is_named_after_the_user_or_password_in_a_url_on_its_command_line(
    before: list[str], carrier: str, after: list[str]
) -> None:
    name = targets.from_command("npx", [*before, carrier.format(SECRET, HOST), *after])
    assert name is None or SECRET not in name
    assert name is None or (len(name) <= targets.MAX_NAME and name.isprintable())


@pytest.mark.parametrize(
    "uri",
    [
        f"https://user:{SECRET}@{HOST}/x?token={SECRET}#{SECRET}",
        f"jdbc:postgresql://user:{SECRET}@{HOST}/db",
        f"//user:{SECRET}@{HOST}/x",
        f"notes:/x?{SECRET}",
    ],
)
def test_a_uri_leaves_without_userinfo_query_and_fragment(uri: str) -> None:
    assert SECRET not in safe_uri(uri)
    assert SECRET not in targets.safe_url(uri)


@given(st.text(), st.text())
def test_no_uri_raises(uri: str, user: str) -> None:
    safe_uri(uri)
    safe_uri(f"scheme://{user}@{uri}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(
    pid=st.sampled_from(("0", "²", "٣", "9" * 30, "-1", "1e3", "", " 7", "4194999"))
    | st.text("0123456789x", max_size=12)
)
def test_files_of_any_name_in_the_targets_folder_are_no_reason_not_to_write_ours(tmp_path: Path, pid: str) -> None:
    prefix = f"otel-mcp-{socket.gethostname()}-"
    foreign = tmp_path / f"{prefix}{pid}.json"
    foreign.write_text("not json")
    own = Target(str(tmp_path), "127.0.0.1:1", "agent")
    assert json.loads((tmp_path / f"{prefix}{os.getpid()}.json").read_text())[0]["targets"] == ["127.0.0.1:1"]
    own.remove()
    foreign.unlink(missing_ok=True)
    assert list(tmp_path.iterdir()) == []


metas = st.dictionaries(names.filter(lambda name: name != "progressToken"), any_json, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(meta=metas)
def test_a_callers_own_meta_arrives_as_it_was_beside_the_trace_context(meta: dict[str, Any]) -> None:
    plain: list[dict[str, Any]] = []
    anyio.run(_call, meta, plain)
    watched: list[dict[str, Any]] = []
    with testing.capture():
        anyio.run(_call, meta, watched)
    without_us, with_us = plain[0].get("_meta") or {}, watched[0]["_meta"]
    assert {key: value for key, value in with_us.items() if key not in OURS} == {
        key: value for key, value in without_us.items() if key not in OURS
    }
    assert "traceparent" in with_us


OURS = ("traceparent", "tracestate", "baggage")


async def _call(meta: dict[str, Any], sent: list[dict[str, Any]]) -> None:
    """One call with this `_meta`; what was sent of it goes into ``sent``."""
    async with connected("ok", "peer") as (read, write), ClientSession(read, _tap(write, sent)) as session:
        await session.initialize()
        given_meta: Any = dict(meta)
        await session.call_tool("ok", {}, meta=given_meta)
        assert given_meta == meta


def _tap(stream: Any, sent: list[dict[str, Any]]) -> Any:
    return _Tap(stream, sent)


class _Tap:
    """A write stream that keeps the parameters of tool calls."""

    def __init__(self, stream: Any, sent: list[dict[str, Any]]) -> None:
        self._stream = stream
        self._sent = sent

    async def send(self, item: Any) -> None:
        message = getattr(item.message, "root", item.message)
        if getattr(message, "method", None) == "tools/call":
            self._sent.append(dict(message.params))
        await self._stream.send(item)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> Any:
        return await self._stream.__aexit__(*details)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
