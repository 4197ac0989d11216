"""What the resilience layer promises, each with the source of the demand.

A test signs with ``@pytest.mark.promise("name")``; `test_promises.py` fails on a promise that no test signs and on a
signature for a promise that is not here.
"""

from __future__ import annotations

from typing import NamedTuple


class Promise(NamedTuple):
    text: str
    source: str


HERMES_KEEPALIVE = "Hermes Agent, pull request 48069 and its reviews"
HERMES_BREAKER = "Hermes Agent, the transport-failures pull request"
ARTICLE = "article on unattended runs: own the stop"
HERMES_HOST = "Hermes Agent, issues on keepalive and parking"
FIELD = "public reports of MCP hosts: reconnect storms, expired sessions, queues"
ISSUE = "requirements of the resilience layer"
CONTRACT = "docs/contract.md, Python"

PROMISES = {
    # --- own the stop -------------------------------------------------------------------------------------------
    "three-way-result": Promise("Answered, answered with an error, cut off by us: told apart, in a result.", ARTICLE),
    "no-exception-for-the-call": Promise("What the call did is never raised.", CONTRACT),
    "caller-cancel-passes": Promise("The caller's own cancellation always goes through.", CONTRACT),
    "deadline-covers-writing": Promise("The deadline covers the whole call, writing included.", ARTICLE),
    "deadline-is-hard": Promise("A callee that swallows cancellation cannot hold its caller.", HERMES_KEEPALIVE),
    "deadline-inverted": Promise("A deadline not shorter than the limit around it is said at once.", ARTICLE),
    "local-deadline-by-context": Promise("A local time-out is told by its context, never by its code.", CONTRACT),
    "retry-only-idempotent": Promise("Only calls that may run twice are made twice.", ARTICLE),
    "retry-full-jitter": Promise("Waits are drawn from 0 to a bound that doubles up to a cap.", ARTICLE),
    "retry-after-deadline": Promise("After a deadline: wider waits and fewer attempts.", ARTICLE),
    "retry-within-budget": Promise("No attempt that cannot finish within the budget.", ARTICLE),
    "retry-transient-codes": Promise("A JSON-RPC error is retried only for codes said to be transient.", ARTICLE),
    "quiet-after-cutoff": Promise("After a cut-off no new attempt until the old one is over or time passed.", ARTICLE),
    "guard-order": Promise("Breaker, then retry, then deadline, then the record.", ARTICLE),
    "open-is-the-steps-choice": Promise("An open breaker fails the step or skips it, as the step says.", ARTICLE),
    "one-record-a-call": Promise("One record a call: bucket, seconds, attempts, breaker state.", ARTICLE),
    # --- the breaker --------------------------------------------------------------------------------------------
    "answers-reset": Promise("A result, even with isError, and a JSON-RPC error reset the breaker.", HERMES_BREAKER),
    "strikes-are-a-setting": Promise("Which causes count is a setting.", HERMES_BREAKER),
    "strike-mix-visible": Promise("The mix of causes that opened a breaker is always visible.", HERMES_BREAKER),
    "burst-counts-once": Promise("A parallel batch of failures is one observation.", HERMES_BREAKER),
    "one-probe": Promise("In half-open one call goes through, others are told the time left.", HERMES_BREAKER),
    "probe-slot-freed": Promise("The probe's slot is freed on every outcome and on cancellation.", HERMES_BREAKER),
    "open-does-not-touch": Promise("An open breaker refuses without touching the session.", HERMES_BREAKER),
    "opening-is-logged": Promise("That a breaker opened is always logged.", ARTICLE),
    "cooldown-outlasts-run": Promise("A cool-down longer than the run's budget is said at construction.", ARTICLE),
    "own-words-survive": Promise("The server's own message survives.", HERMES_BREAKER),
    # --- the connector: lock and keepalive ----------------------------------------------------------------------
    "one-lock": Promise("One lock for all client requests of a connection, keepalive included.", HERMES_KEEPALIVE),
    "lock-and-keepalive": Promise("Lock and keepalive in both orders, on the real life cycle.", HERMES_KEEPALIVE),
    "keepalive-skips": Promise("The keepalive skips its turn while anything is under way.", HERMES_KEEPALIVE),
    "probes-staggered": Promise("Probes of many connectors do not fall together.", HERMES_KEEPALIVE),
    "ping-error-is-alive": Promise("A ping answered by an error means alive.", HERMES_HOST),
    "ping-falls-back": Promise("Without ping, tools/list is the probe.", HERMES_HOST),
    "revisions-without-ping": Promise("Protocol revisions without ping are probed by tools/list.", ISSUE),
    "keepalive-finds-dead": Promise("A server that does not answer the probe gets a new session.", HERMES_HOST),
    "lock-not-kept": Promise("A callee that swallows its cancellation does not keep the lock.", HERMES_KEEPALIVE),
    "left-behind-renews": Promise("What is left behind is counted and its connection renewed.", ISSUE),
    # --- the connector: teardown ----------------------------------------------------------------------------------
    "all-requests-tracked": Promise("Tools, resources and prompts are tracked alike.", HERMES_KEEPALIVE),
    "teardown-tells": Promise("A teardown ends open requests with a clear, retryable error.", HERMES_KEEPALIVE),
    "teardown-is-not-cancel": Promise("A teardown is told apart from a user's cancel.", HERMES_KEEPALIVE),
    "close-is-clean": Promise("Closing is prompt and leaves no process, task or lock behind.", ISSUE),
    # --- the connector: reconnect ---------------------------------------------------------------------------------
    "call-waits-for-session": Promise("A call during a reconnect waits for it within its deadline.", CONTRACT),
    "start-costs-only-its-calls": Promise("A server that does not start costs its own calls only.", ISSUE),
    "reconnect-storm-ends": Promise("Reconnects back off and end in the parked state.", FIELD),
    "health-restores-budget": Promise("Health restores the budget of reconnects.", FIELD),
    "parked-rejects": Promise("Parked or closed rejects at once.", CONTRACT),
    "parked-probes-itself": Promise("A parked connector tries again by itself.", ISSUE),
    "clock-jump-staggers": Promise("After a sleep of the machine, reconnects are spread.", HERMES_KEEPALIVE),
    "session-expired": Promise("A forgotten session is renewed, not retried on.", FIELD),
    "http-status-is-the-cause": Promise("The HTTP status is kept as the cause.", CONTRACT),
    # --- the connector: calls -------------------------------------------------------------------------------------
    "connector-calls": Promise("Calls, resources, prompts and lists on mcp 1.x and 2.x.", CONTRACT),
    "one-outcome-a-call": Promise("Every call ends in exactly one outcome.", ISSUE),
    "no-write-twice": Promise("No write is sent twice unless the caller allowed it.", ISSUE),
    "hint-is-advice": Promise("A server's idempotentHint alone allows no retry.", ISSUE),
    "read-only-hint": Promise("A readOnlyHint allows a retry.", ISSUE),
    "idempotency-key": Promise("An idempotency key allows a retry and goes into _meta.", CONTRACT),
    "cut-off-is-announced": Promise("The server is told that nobody waits any more.", ISSUE),
    "queue-time-is-no-strike": Promise("A deadline that was spent in our own queue is no strike.", FIELD),
    "healthy-lose-nothing": Promise("One hung and one flapping connector cost the others nothing.", ISSUE),
    "run-ends-on-time": Promise("An unattended job ends on time whatever one connector does.", ISSUE),
    "no-opentelemetry-needed": Promise("It is useful without any OpenTelemetry set-up.", ISSUE),
}
