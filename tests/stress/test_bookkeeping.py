"""Whatever happens to the calls: each is recorded once, and nothing is kept of it.

The peer is a stand-in over memory streams (see `stress.peer`), the backend is asyncio. `SOAK_SECONDS` makes it go on
for so long, with new plans all the time.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections import Counter

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from mcp import ClientSession
from stress.driver import carry_out
from stress.peer import connected
from stress.plan import Plan, plans

from harness.sessions import call_tool
from harness.waiting import await_for
from otel_mcp import testing
from otel_mcp._ground import guard
from otel_mcp._ground.outcomes import OUTCOMES
from otel_mcp._ledger.ledger import ledger
from otel_mcp._observe import attempts
from otel_mcp._sdk import link

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
PLANS = 8
"""Some hundred calls each, in each of two environments."""
CALL_METHODS = ("tools/call", "resources/read", "prompts/get")


# Threads do not come back the same way, so a failing plan is printed as it is and not made smaller.
@settings(
    max_examples=PLANS,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@given(plan=plans)
def check(plan: Plan) -> None:
    caught = guard.internal_errors()
    with testing.capture() as seen:
        tallies = carry_out(plan)
        gc.collect()
        nothing_is_left()
    started = sum(tally.started for tally in tallies)
    assert sum(sum(tally.released.values()) for tally in tallies) >= started
    every_call_has_one_record(seen, started)
    every_attempt_has_one_span_and_one_point(seen)
    assert guard.internal_errors() == caught


def nothing_is_left() -> None:
    assert ledger.attempts() == []
    assert ledger.calls == {}
    assert ledger.lock_waits == set()
    assert len(link.transports) == 0
    for connector in ledger.connectors.values():
        assert connector.open_calls == {}
        assert connector.sessions == {}
        assert connector.lock_waiting == 0


def every_call_has_one_record(seen: testing.Capture, started: int) -> None:
    assert len(seen.calls) == started
    assert len({call.fields["id"] for call in seen.calls}) == started
    assert seen.total("otel_mcp.client.calls") == started
    assert seen.total("otel_mcp.client.call.duration") == started
    by_record = Counter(call.outcome for call in seen.calls)
    assert by_record.keys() <= {outcome.value for outcome in OUTCOMES}
    by_metric = {
        outcome.value: seen.total("otel_mcp.client.calls", {"otel_mcp.outcome": outcome.value}) for outcome in OUTCOMES
    }
    assert {name: count for name, count in by_metric.items() if count} == by_record
    assert seen.total("otel_mcp.client.request.active") == 0
    assert all(point.value == 0 for point in seen.metric("otel_mcp.client.call.oldest_age"))
    assert seen.total("otel_mcp.client.lock.waiting") == 0


def every_attempt_has_one_span_and_one_point(seen: testing.Capture) -> None:
    spans = [span for span in seen.spans if span.kind == "CLIENT"]
    assert len({span.span_id for span in spans}) == len(spans)
    assert len(spans) == seen.total("mcp.client.operation.duration")
    of_calls = sum(span.attributes["mcp.method.name"] in CALL_METHODS for span in spans)
    assert of_calls == sum(
        seen.total("mcp.client.operation.duration", {"mcp.method.name": method}) for method in CALL_METHODS
    )
    assert of_calls == seen.total("otel_mcp.client.attempts")
    assert of_calls == sum(call.attempts for call in seen.calls)
    assert all(len(call.fields["attempt_outcomes"]) == call.attempts for call in seen.calls)


@pytest.mark.slow
def test_thousands_of_calls_with_faults_cancellations_and_teardowns_are_each_recorded_once() -> None:
    end = time.monotonic() + SOAK_SECONDS
    check()
    while time.monotonic() < end:
        check()


@pytest.mark.anyio
async def test_what_is_kept_of_calls_that_were_given_up_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_MAX_GIVEN_UP", 20)
    with testing.capture() as seen:
        async with connected("ok", "peer") as streams, ClientSession(*streams) as session:
            await session.initialize()
            for _ in range(60):
                with anyio.CancelScope() as scope, contextlib.suppress(Exception):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(call_tool, session, "silent")
                        await await_for(lambda: any(attempt.sent_at for attempt in ledger.attempts()))
                        scope.cancel()
            entry = link.known(session)
            assert entry is not None
            assert len(entry.given_up) == 20
    assert len(seen.calls) == 60
