# requires: hermes-agent[mcp]==0.19.0
# python: 3.13
"""Hermes Agent, driven as its agent loop drives it: servers registered by configuration, tools called by dispatch."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tools.mcp_tool", reason="hermes-agent is not installed; make test-hosts HOST=hermes")

from opentelemetry import trace
from tools import interrupt
from tools import mcp_tool as hermes
from tools.registry import registry

from harness.servers import Fault, HttpServer, Servers, StdioServer
from harness.waiting import wait_for
from otel_mcp import testing
from otel_mcp._ground import guard, patching
from otel_mcp._hosts import hermes as adapter

Row = Callable[[str, str], None]
SIGNALS = "signals by host"
LIMIT = 1.5  # seconds a tool call may take where a test waits for the limit; servers hang for ever
ROOMY = 30.0


class Host:
    """Hermes with servers of ours."""

    def register(self, name: str, server: StdioServer | HttpServer, **config: Any) -> None:
        where: dict[str, Any]
        if isinstance(server, HttpServer):
            where = {"url": server.target}
        else:
            where = {"command": server.target.command, "args": list(server.target.args), "env": server.target.env or {}}
        hermes.register_mcp_servers({name: {"timeout": ROOMY, **where, **config}})

    def call(self, server: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the model would be given."""
        answer: dict[str, Any] = json.loads(registry.dispatch(f"mcp__{server}__{tool}", arguments))
        return answer

    def in_background(self, server: str, tool: str, **arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=self.call, args=(server, tool), kwargs=arguments, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[testing.Capture]:
    """What otel_mcp records; a fault of ours raises."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(guard, "reraise", True)
    with testing.capture() as captured:
        yield captured


@pytest.fixture
def host(seen: testing.Capture) -> Iterator[Host]:
    yield Host()
    hermes.shutdown_mcp_servers()
    for state in (hermes._server_error_counts, hermes._server_breaker_opened_at):
        state.clear()


def labels(**given: Any) -> dict[str, Any]:
    return {f"otel_mcp.{name.replace('__', '.')}": value for name, value in given.items()}


def strikes(seen: testing.Capture, server: str) -> dict[str, float]:
    points = seen.metric("otel_mcp.client.breaker.strikes", labels(connector=server))
    return {str(point.attributes["otel_mcp.breaker.cause"]): point.value for point in points if point.value}


def breaker_state(seen: testing.Capture, server: str) -> str:
    points = seen.metric("otel_mcp.client.breaker.state", labels(connector=server))
    (state,) = (str(point.attributes["otel_mcp.breaker.state"]) for point in points if point.value)
    return state


def state(seen: testing.Capture, server: str) -> str:
    points = seen.metric("otel_mcp.client.connector.state", labels(connector=server))
    (found,) = (str(point.attributes["otel_mcp.state"]) for point in points if point.value)
    return found


def reasons(seen: testing.Capture, server: str) -> list[str]:
    return [event.fields["reason"] for event in seen.events("connect") if event.connector == server]


def last(seen: testing.Capture) -> testing.Call:
    return seen.calls[-1]


def test_every_hook_is_there(host: Host) -> None:
    statuses = [status for status in patching.statuses() if status.target == adapter.TARGET]
    assert [status for status in statuses if status.state != patching.ACTIVE] == []
    assert len(statuses) > 20


def test_a_call_carries_the_configured_name_and_the_hosts_limit(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row(SIGNALS, "ok")
    table_row(SIGNALS, "connector name")
    host.register("plain", servers.stdio(name="another"))
    assert host.call("plain", "echo", text="hello") == {"result": "hello"}
    call = last(seen)
    assert (call.connector, call.tool, call.outcome, call.attempts) == ("plain", "echo", "ok", 1)
    assert (call.limit, call.limit_source) == (ROOMY, "host")
    assert call.fields["breaker"] == "closed"
    assert reasons(seen, "plain") == ["initial"]


def test_a_resource_and_a_prompt_are_calls_too(host: Host, servers: Servers, seen: testing.Capture) -> None:
    host.register("plain", servers.stdio())
    host.call("plain", "read_resource", uri="demo://note")
    host.call("plain", "get_prompt", name="greet")
    host.call("plain", "get_prompt")
    assert [(c.method, c.tool, c.outcome, c.limit_source) for c in seen.calls] == [
        ("resources/read", None, "ok", "host"),
        ("prompts/get", "greet", "ok", "host"),
    ]


def test_a_rejected_argument_is_a_tool_error_and_strikes_as_one(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row(SIGNALS, "tool error")
    host.register("picky", servers.stdio())
    assert "YYYY-MM-DD" in host.call("picky", "reject")["error"]
    assert last(seen).outcome == "tool_error"
    assert strikes(seen, "picky") == {"tool_error": 1}


def test_three_rejected_arguments_open_the_breaker_and_a_healthy_tool_is_refused(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row(SIGNALS, "breaker")
    host.register("picky", servers.stdio())
    for _ in range(3):
        host.call("picky", "reject")
    assert breaker_state(seen, "picky") == "open"
    refused = host.call("picky", "echo", text="hello")
    assert "unreachable after 3 consecutive failures" in refused["error"]
    call = last(seen)
    assert (call.tool, call.outcome, call.error_type, call.attempts, call.sent) == (
        "echo", "rejected", "breaker_open", 0, False,
    )  # fmt: skip
    assert call.fields["breaker"] == "open"
    assert strikes(seen, "picky") == {"tool_error": 3}
    (event,) = seen.events("breaker")
    assert (event.fields["from"], event.fields["to"], event.fields["cause"]) == ("closed", "open", "tool_error")
    assert (event.fields["strikes"], event.fields["cooldown"]) == ({"tool_error": 3}, 60.0)

    monkeypatch.setitem(hermes._server_breaker_opened_at, "picky", time.monotonic() - 61)
    assert breaker_state(seen, "picky") == "half_open"
    assert host.call("picky", "echo", text="hello") == {"result": "hello"}
    assert last(seen).fields["breaker"] == "half_open"
    assert breaker_state(seen, "picky") == "closed"
    assert [event.fields["to"] for event in seen.events("breaker")] == ["open", "half_open", "closed"]


def test_a_count_that_hermes_sets_without_its_helper_is_seen(
    host: Host, servers: Servers, seen: testing.Capture
) -> None:
    host.register("picky", servers.stdio())
    for _ in range(3):
        host.call("picky", "reject")
    hermes._server_error_counts["picky"] = 0
    assert breaker_state(seen, "picky") == "closed"


def test_the_hosts_time_limit_is_a_deadline_although_the_session_sees_a_cancellation(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row(SIGNALS, "deadline")
    table_row(SIGNALS, "limit and its source")
    host.register("mute", servers.stdio(), timeout=LIMIT)
    assert "timed out" in host.call("mute", "hang")["error"]
    call = last(seen)
    assert (call.outcome, call.limit, call.limit_source, call.phase) == ("deadline", LIMIT, "host", "wait")
    assert call.fields["attempt_outcomes"] == ["deadline"]
    assert strikes(seen, "mute") == {"deadline": 1}
    attempts = labels(connector="mute", outcome="deadline") | {"mcp.method.name": "tools/call"}
    wait_for(lambda: seen.total("mcp.client.operation.duration", attempts) == 1)


def test_an_answer_after_the_limit_is_told_as_late(host: Host, servers: Servers, seen: testing.Capture) -> None:
    host.register("mute", servers.stdio(), timeout=LIMIT)
    host.call("mute", "late", seconds=LIMIT + 0.5)
    wait_for(lambda: seen.events("late_response"))


def test_a_user_who_interrupts_cancels_the_call(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row(SIGNALS, "cancelled")
    host.register("mute", servers.stdio())
    thread = host.in_background("mute", "hang")
    wait_for(lambda: seen.total("otel_mcp.client.request.active", {"mcp.method.name": "tools/call"}) == 1)
    assert thread.ident is not None
    interrupt.set_interrupt(True, thread.ident)
    thread.join()
    interrupt.set_interrupt(False, thread.ident)
    call = last(seen)
    assert (call.outcome, call.error_type) == ("cancelled", "cancelled")
    assert strikes(seen, "mute") == {}


def test_a_call_that_dies_in_the_queue_was_never_sent_and_names_the_holder(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, tmp_path: Path
) -> None:
    table_row(SIGNALS, "lock wait and holder")
    # The refresh that a server's notification starts takes the lock for as long as the server likes: it has no limit.
    listing = Fault("silent", on="tools/list", after=1)
    host.register("queue", servers.stdio(listing), timeout=LIMIT)
    host.call("queue", "notify_then_wait", seconds=0)
    host.call("queue", "echo", text="hello")
    call = last(seen)
    assert (call.outcome, call.phase, call.cause) == ("deadline", "lock", "lock_wait")
    assert (call.sent, call.attempts, call.fields["lock_holder"]) == (False, 0, "tools/list on queue")
    assert strikes(seen, "queue") == {"lock_wait": 1}
    assert seen.total("otel_mcp.client.lock.waiting") == 0


def test_a_listing_that_waits_behind_a_call_is_no_call(
    host: Host, servers: Servers, seen: testing.Capture, tmp_path: Path
) -> None:
    host.register("queue", servers.stdio())
    until = tmp_path / "go"
    thread = host.in_background("queue", "hold", until=str(until))
    wait_for(lambda: seen.total("otel_mcp.client.request.active", {"mcp.method.name": "tools/call"}) == 1)
    other = host.in_background("queue", "list_resources")
    wait_for(lambda: seen.total("otel_mcp.client.lock.waiting") == 1)
    until.touch()
    thread.join()
    other.join()
    assert [call.tool for call in seen.calls] == ["hold"]


def test_a_server_that_dies_in_a_call_is_called_again_and_that_is_unsafe(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row(SIGNALS, "server death")
    table_row(SIGNALS, "attempts and unsafe retries")
    table_row(SIGNALS, "reconnect reason")
    server = servers.stdio()
    host.register("frail", server)
    host.call("frail", "die")
    call = last(seen)
    assert (call.outcome, call.error_type, call.cause, call.attempts) == (
        "disconnected", "connection_closed", "process_exit", 2,
    )  # fmt: skip
    assert call.fields["attempt_outcomes"] == ["disconnected", "disconnected"]
    assert call.fields["retry_unsafe"] is True
    assert seen.total("otel_mcp.client.retries", labels(connector="frail", retry__unsafe=True)) == 1
    assert reasons(seen, "frail") == ["initial", "transport"]
    assert strikes(seen, "frail") == {"transport": 1}
    assert server.counts()["tools"]["die"]["asked"] == 2

    refused = host.call("frail", "echo", text="hello")
    assert "ClosedResourceError" in refused["error"]
    call = last(seen)
    assert (call.outcome, call.error_type, call.sent) == ("rejected", "not_connected", False)


def test_a_retry_of_a_tool_that_only_reads_is_safe(host: Host, servers: Servers, seen: testing.Capture) -> None:
    host.register("frail", servers.stdio(Fault("exit", tool="echo")))
    host.call("frail", "echo", text="hello")
    call = last(seen)
    assert (call.attempts, call.fields["retry_unsafe"]) == (2, False)
    assert seen.total("otel_mcp.client.retries", labels(connector="frail", retry__unsafe=False)) == 1


def test_a_forgotten_session_is_reconnected_for_that_reason_and_the_call_succeeds(
    host: Host, servers: Servers, seen: testing.Capture
) -> None:
    host.register("web", servers.http(Fault("forget", times=1)))
    assert host.call("web", "echo", text="hello") == {"result": "hello"}
    call = last(seen)
    assert (call.outcome, call.attempts) == ("ok", 2)
    assert call.fields["attempt_outcomes"] == ["disconnected", "ok"]
    assert reasons(seen, "web") == ["initial", "session_expired"]
    assert call.fields["generation"] == 2
    assert seen.total("otel_mcp.client.breaker.strikes", labels(connector="web")) == 0


@pytest.mark.parametrize(
    ("status", "strike", "reason"),
    [(401, "auth", "auth"), (429, "rate_limit", "transport"), (503, "deadline", "transport")],
)
def test_an_http_status_that_ends_the_transport_is_the_cause_of_deadline_strike_and_reconnect(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, status: int, strike: str, reason: str
) -> None:
    table_row(SIGNALS, "HTTP status as the cause")
    host.register("web", servers.http(Fault("status", status, times=1)), timeout=LIMIT)
    host.call("web", "echo", text="hello")
    call = last(seen)
    cause = "http_5xx" if status == 503 else f"http_{status}"
    assert (call.outcome, call.cause, call.limit) == ("deadline", cause, LIMIT)
    assert strikes(seen, "web") == {strike: 1}
    wait_for(lambda: reasons(seen, "web") == ["initial", reason])


class Tokens:
    """Stands where Hermes' OAuth manager does: there is no authorisation server here that a user could log in to."""

    def __init__(self, renewed: bool) -> None:
        self._renewed = renewed

    async def handle_401(self, server: str, token: str | None) -> bool:
        return self._renewed


@pytest.mark.parametrize("renewed", [True, False])
def test_a_renewed_token_reconnects_for_that_reason_and_a_refused_one_is_a_strike(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch, renewed: bool
) -> None:
    table_row(SIGNALS, "renewed token")
    monkeypatch.setattr("tools.mcp_oauth_manager.get_manager", lambda: Tokens(renewed))
    monkeypatch.setattr(hermes, "_is_auth_error", lambda error: "terminated" in str(error))
    host.register("web", servers.http(Fault("forget", times=1)))
    answer = host.call("web", "echo", text="hello")
    call = last(seen)
    if renewed:
        assert answer == {"result": "hello"}
        assert (call.outcome, call.attempts, reasons(seen, "web")) == ("ok", 2, ["initial", "auth"])
    else:
        assert answer["needs_reauth"] is True
        assert (call.outcome, call.attempts, strikes(seen, "web")) == ("disconnected", 1, {"auth": 1})


def test_a_reconnect_that_somebody_asks_for_is_requested(host: Host, servers: Servers, seen: testing.Capture) -> None:
    host.register("plain", servers.stdio())
    assert hermes.reconnect_mcp_server("plain")
    wait_for(lambda: reasons(seen, "plain") == ["initial", "requested"])
    wait_for(lambda: state(seen, "plain") == "ready")


def test_a_recycled_server_is_opened_again_by_the_next_call(
    host: Host, servers: Servers, seen: testing.Capture
) -> None:
    host.register("idle", servers.stdio(), idle_timeout_seconds=0.2)
    wait_for(lambda: state(seen, "idle") == "closed")
    host.call("idle", "echo", text="hello")
    call = last(seen)
    assert (call.outcome, call.phase) == ("ok", "connect")
    assert reasons(seen, "idle") == ["initial", "recycle"]


def test_a_keepalive_that_fails_in_a_call_orphans_it_and_the_next_listing_waits_for_its_lock(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row(SIGNALS, "keepalive and overlap")
    table_row(SIGNALS, "orphaned")
    monkeypatch.setattr(hermes, "_MIN_KEEPALIVE_INTERVAL", 0.3)
    # A ping that is answered by an error is a failure to Hermes, though the server has just shown that it is there.
    host.register("race", servers.stdio(Fault("error", -32603, on="ping", times=1)), timeout=6.0, keepalive_interval=1)
    thread = host.in_background("race", "hang")
    wait_for(lambda: seen.total("otel_mcp.client.lock.waiting", labels(connector="race")) == 1)
    assert reasons(seen, "race") == ["initial", "keepalive"]
    assert seen.total("otel_mcp.client.request.active", {"mcp.method.name": "tools/call"}) == 1
    behind = host.in_background("race", "echo", text="hello")
    wait_for(lambda: seen.total("otel_mcp.client.lock.waiting", labels(connector="race")) == 2)
    thread.join()
    behind.join()
    call, next_one = sorted(seen.calls, key=lambda call: str(call.tool), reverse=True)
    assert (next_one.outcome, next_one.phase, next_one.fields["lock_holder"]) == ("ok", "lock", "hang on race")
    assert (call.outcome, call.error_type, call.limit) == ("orphaned", "orphaned", 6.0)
    assert call.elapsed >= 6.0
    assert call.fields["keepalive_overlap"] is True
    assert strikes(seen, "race") == {"transport": 1}
    wait_for(lambda: seen.total("otel_mcp.client.lock.waiting", labels(connector="race")) == 0)
    (probe, *_) = seen.events("keepalive")
    assert (probe.fields["method"], probe.fields["outcome"], probe.fields["overlap"]) == (
        "ping", "ok", [call.fields["id"]],
    )  # fmt: skip


def test_a_server_without_ping_is_probed_by_listing(
    host: Host, servers: Servers, seen: testing.Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hermes, "_MIN_KEEPALIVE_INTERVAL", 0.2)
    host.register("old", servers.stdio(Fault("error", -32601, on="ping")), keepalive_interval=0.2)
    wait_for(lambda: len(seen.events("keepalive")) >= 3)
    probes = [(event.fields["method"], event.fields["outcome"]) for event in seen.events("keepalive")]
    assert probes[:3] == [("ping", "ok"), ("tools/list", "ok"), ("tools/list", "ok")]
    spans = [span for span in seen.spans if span.attributes.get("otel_mcp.keepalive.probe")]
    assert {span.parent_id for span in spans} == {None}


def test_a_server_that_is_given_up_is_parked_without_tools_and_revived(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row(SIGNALS, "parked and revived")
    monkeypatch.setattr(hermes, "_MAX_RECONNECT_RETRIES", 1)
    monkeypatch.setattr(hermes, "_PARKED_RETRY_INTERVAL", ROOMY)
    server = servers.http()
    host.register("away", server, keepalive_interval=1)
    monkeypatch.setattr(hermes, "_MIN_KEEPALIVE_INTERVAL", 0.2)
    assert seen.total("otel_mcp.client.tools", labels(connector="away")) > 0
    server.kill()
    hermes.reconnect_mcp_server("away")
    wait_for(lambda: state(seen, "away") == "parked")
    assert seen.total("otel_mcp.client.tools", labels(connector="away")) == 0
    servers.restart(server)
    hermes.reconnect_mcp_server("away")
    wait_for(lambda: state(seen, "away") == "ready")
    wait_for(lambda: seen.total("otel_mcp.client.tools", labels(connector="away")) > 0)
    first, second, *tries, back = reasons(seen, "away")
    assert (first, second, set(tries), back) == ("initial", "requested", {"transport"}, "revival")


def test_a_program_that_does_not_exist_is_no_session(host: Host, seen: testing.Capture) -> None:
    hermes.register_mcp_servers({"nothing": {"command": "/does/not/exist", "args": [], "connect_timeout": 3}})
    tried = seen.events("connect")
    assert {event.connector for event in tried} == {"nothing"}
    # Hermes starts every program through a watchdog, which is there and exits.
    assert {(event.fields["reason"], event.fields["outcome"], event.fields["cause"]) for event in tried} == {
        ("initial", "disconnected", "process_exit")
    }
    wait_for(lambda: state(seen, "nothing") == "failed")


def test_the_callers_span_is_the_parent_and_keepalives_and_reconnects_are_roots(
    host: Host, servers: Servers, seen: testing.Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hermes, "_MIN_KEEPALIVE_INTERVAL", 0.2)
    tracer = trace.NonRecordingSpan(
        trace.SpanContext(0xA11CE, 0xB0B, is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))
    )
    with trace.use_span(tracer):
        host.register("plain", servers.stdio(), keepalive_interval=0.2)
        host.call("plain", "echo", text="hello")
    hermes.reconnect_mcp_server("plain")
    wait_for(lambda: reasons(seen, "plain") == ["initial", "requested"] and state(seen, "plain") == "ready")
    wait_for(lambda: [span.name for span in seen.spans].count("tools/list") == 2)
    wait_for(lambda: any(span.name == "ping" for span in seen.spans))
    (call,) = (span for span in seen.spans if span.name == "call echo")
    (attempt,) = (span for span in seen.spans if span.name == "tools/call echo")
    assert (call.parent_id, call.trace_id[-5:]) == (f"{0xB0B:016x}", "a11ce")
    assert (attempt.parent_id, attempt.trace_id) == (call.span_id, call.trace_id)
    roots = {span.name for span in seen.spans if span.parent_id is None}
    assert {"connect plain", "ping", "initialize", "tools/list"} <= roots
    assert [span.parent_id for span in seen.spans if span.name == "connect plain"] == [None, None]


def test_a_renamed_attribute_is_missing_and_the_rest_works(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.delattr(hermes, "_signal_reconnect_and_wait")
    monkeypatch.delattr(hermes, "_CIRCUIT_BREAKER_COOLDOWN_SEC")
    monkeypatch.delattr(hermes.MCPServerTask, "_keepalive_probe")
    with testing.capture() as seen:
        host = Host()
        host.register("plain", servers.stdio())
        missing = {status.point.rpartition(":")[2] for status in patching.statuses() if status.state == "missing"}
        assert host.call("plain", "echo", text="hello") == {"result": "hello"}
        hermes.shutdown_mcp_servers()
        assert seen.metric("otel_mcp.hooks", labels(hook__target="hermes", hook__state="missing"))[0].value == 3
    assert missing == {"_signal_reconnect_and_wait", "_CIRCUIT_BREAKER_COOLDOWN_SEC", "MCPServerTask._keepalive_probe"}
    assert seen.calls[0].outcome == "ok"


def test_a_constructor_without_the_lock_is_missing() -> None:
    class Renamed:
        def __init__(self) -> None:
            self.name = "renamed"

    from otel_mcp._hosts._hermes_connections import Connections

    with pytest.raises(AttributeError, match="no _rpc_lock and no _refresh_lock"):
        Connections(None, patching.Switch()).wrap_init(Renamed.__init__)  # type: ignore[arg-type]


def test_a_module_of_that_name_that_is_not_hermes_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    monkeypatch.setitem(sys.modules, "tools.mcp_tool", types.ModuleType("tools.mcp_tool"))
    assert adapter.patches(patching.Switch()) == []


def test_uninstalling_puts_every_attribute_back() -> None:
    def attributes() -> dict[str, Any]:
        task = {f"task.{name}": value for name, value in vars(hermes.MCPServerTask).items()}
        return {**vars(hermes), **task}

    before = attributes()
    for _ in range(3):
        with testing.capture():
            assert attributes()["_run_on_mcp_loop"] is not before["_run_on_mcp_loop"]
        after = attributes()
        assert [name for name in before if after[name] is not before[name]] == []
