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
}
