# with: hermes
"""Locks, breakers, retries, probes and reconnects of the field's kinds, on Hermes Agent."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tools.mcp_tool", reason="hermes-agent is not installed; make test-hosts HOST=hermes")

from tools import mcp_tool as hermes

from harness.hermes_host import LEFT_BY_HERMES, LIMIT, ROOMY, Host, breaker_state, labels, last, reasons, state, strikes
from harness.servers import Fault, Servers
from harness.signals import TABLE as SIGNALS
from harness.waiting import wait_for
from otel_mcp import testing

Row = Callable[[str, str], None]
pytestmark = pytest.mark.filterwarnings(*LEFT_BY_HERMES)


def test_a_forgotten_session_is_reconnected_for_that_reason_and_the_call_succeeds(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row("scenarios", "3 stale session")
    host.register("web", servers.http(Fault("forget", times=1)))
    assert host.call("web", "echo", text="hello") == {"result": "hello"}
    call = last(seen)
    assert (call.outcome, call.attempts) == ("ok", 2)
    assert call.fields["attempt_outcomes"] == ["disconnected", "ok"]
    assert reasons(seen, "web") == ["initial", "session_expired"]
    assert call.fields["generation"] == 2
    assert seen.total("otel_mcp.client.breaker.strikes", labels(connector="web")) == 0


def test_a_server_that_is_given_up_is_parked_without_tools_and_revived(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row("scenarios", "5 reconnect storm")
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


def test_a_call_that_dies_in_the_queue_was_never_sent_and_names_the_holder(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, tmp_path: Path
) -> None:
    table_row("scenarios", "6 blocked behind something else")
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
    wait_for(lambda: seen.total("otel_mcp.client.lock.waiting") == 0)  # Hermes' loop lets go after the agent's thread


def test_three_rejected_arguments_open_the_breaker_and_a_healthy_tool_is_refused(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row("scenarios", "11 breaker trips falsely or sticks")
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


def test_a_keepalive_that_fails_in_a_call_orphans_it_and_the_next_listing_waits_for_its_lock(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row("scenarios", "12 keepalive")
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
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row("scenarios", "12 keepalive")
    monkeypatch.setattr(hermes, "_MIN_KEEPALIVE_INTERVAL", 0.2)
    host.register("old", servers.stdio(Fault("error", -32601, on="ping")), keepalive_interval=0.2)
    wait_for(lambda: len(seen.events("keepalive")) >= 3)
    probes = [(event.fields["method"], event.fields["outcome"]) for event in seen.events("keepalive")]
    assert probes[:3] == [("ping", "ok"), ("tools/list", "ok"), ("tools/list", "ok")]
    spans = [span for span in seen.spans if span.attributes.get("otel_mcp.keepalive.probe")]
    assert {span.parent_id for span in spans} == {None}


def test_a_server_that_dies_in_a_call_is_called_again_and_that_is_unsafe(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row("scenarios", "13 ambiguous outcome")
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


def test_a_retry_of_a_tool_that_only_reads_is_safe(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row
) -> None:
    table_row("scenarios", "13 ambiguous outcome")
    host.register("frail", servers.stdio(Fault("exit", tool="echo")))
    host.call("frail", "echo", text="hello")
    call = last(seen)
    assert (call.attempts, call.fields["retry_unsafe"]) == (2, False)
    assert seen.total("otel_mcp.client.retries", labels(connector="frail", retry__unsafe=False)) == 1


def test_a_breaker_over_a_dead_child_sticks_and_every_trial_is_seen_to_be_refused_by_the_session(
    host: Host, servers: Servers, seen: testing.Capture, table_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_row("scenarios", "11 breaker trips falsely or sticks")
    server = servers.stdio()
    host.register("dead", server)
    host.call("dead", "die")
    wait_for(lambda: state(seen, "dead") != "ready")
    for _ in range(2):
        host.call("dead", "echo", text="hello")
    assert breaker_state(seen, "dead") == "open"
    monkeypatch.setitem(hermes._server_breaker_opened_at, "dead", time.monotonic() - 61)  # its pause is over
    host.call("dead", "echo", text="hello")
    trial = last(seen)
    assert (trial.fields["breaker"], trial.outcome, trial.error_type, trial.sent) == (
        "half_open", "rejected", "not_connected", False,
    )  # fmt: skip
    assert breaker_state(seen, "dead") == "open"
    assert [event.fields["to"] for event in seen.events("breaker")] == ["open", "half_open", "open"]
    assert "echo" not in server.counts()["tools"]
