# requires: hermes-agent[mcp]==0.19.0
# python: 3.13
"""Hermes Agent, driven as its agent loop drives it: servers registered by configuration, tools called by dispatch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tools.mcp_tool", reason="hermes-agent is not installed; make test-hosts HOST=hermes")

from opentelemetry import trace
from tools import interrupt
from tools import mcp_tool as hermes

from harness.hermes_host import LEFT_BY_HERMES, LIMIT, ROOMY, Host, breaker_state, labels, last, reasons, state, strikes
from harness.servers import Fault, Servers
from harness.signals import TABLE as SIGNALS
from harness.waiting import wait_for
from otel_mcp import testing
from otel_mcp._ground import patching
from otel_mcp._hosts import hermes as adapter

Row = Callable[[str, str], None]
pytestmark = pytest.mark.filterwarnings(*LEFT_BY_HERMES)


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
