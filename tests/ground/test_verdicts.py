"""Which outcome applies: the pure decision, row by row."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import OUTCOMES, Outcome
from otel_mcp._ground.verdicts import Facts, Verdict, of_call, of_exception


@dataclass
class ErrorData:
    code: int
    message: str = ""


class RpcError(Exception):
    """Shaped as the SDK's: the code is in `.error`."""

    def __init__(self, code: int, message: str = "", context: BaseException | None = None) -> None:
        super().__init__(message)
        self.error = ErrorData(code, message)
        self.__context__ = context


class ClosedResourceError(Exception):
    """By its name: anyio need not be there."""


EARLIER = TimeoutError("handled when the call began")
GONE = Verdict(Outcome.DISCONNECTED, "connection_closed")

ROWS: dict[str, tuple[BaseException, Facts, Verdict]] = {
    "a time-out in the context is ours, with 1.x's code": (
        RpcError(408, context=TimeoutError()),
        Facts(limit=30.0),
        Verdict(Outcome.DEADLINE, "timeout", limit=30.0, limit_source="sdk"),
    ),
    "and with 2.x's": (
        RpcError(-32001, context=TimeoutError()),
        Facts(limit=0.5),
        Verdict(Outcome.DEADLINE, "timeout", limit=0.5, limit_source="sdk"),
    ),
    "a peer may send 1.x's time-out code": (RpcError(408), Facts(answered=True), Verdict(Outcome.ERROR, "408", "408")),
    "or 2.x's": (RpcError(-32001), Facts(answered=True), Verdict(Outcome.ERROR, "-32001", "-32001")),
    "a time-out handled before the call is not ours": (
        RpcError(408, context=EARLIER),
        Facts(handled_before=EARLIER, answered=True),
        Verdict(Outcome.ERROR, "408", "408"),
    ),
    "the cause stands beside a deadline": (
        RpcError(408, context=TimeoutError()),
        Facts(limit=1.0, http_status=503),
        Verdict(Outcome.DEADLINE, "timeout", cause="http_5xx", limit=1.0, limit_source="sdk"),
    ),
    "a code of thousands of digits": (
        RpcError(-(10**4200)),
        Facts(answered=True),
        Verdict(Outcome.ERROR, "out_of_range", "out_of_range"),
    ),
    "a closed connection that nobody sent": (RpcError(-32000, "Connection closed"), Facts(), GONE),
    "-32000 that the peer sent": (
        RpcError(-32000, "busy"),
        Facts(answered=True),
        Verdict(Outcome.ERROR, "-32000", "-32000"),
    ),
    "a closed connection with its cause": (
        RpcError(-32000),
        Facts(transport_cause="process_exit"),
        Verdict(Outcome.DISCONNECTED, "connection_closed", cause="process_exit"),
    ),
    "a bad status that the SDK turned into an error": (
        RpcError(-32603, "Server returned an error response"),
        Facts(http_status=503),
        Verdict(Outcome.DISCONNECTED, "503", cause="http_5xx"),
    ),
    "a JSON-RPC error in the body of a bad status": (
        RpcError(-32602, "bad arguments"),
        Facts(answered=True),
        Verdict(Outcome.ERROR, "-32602", "-32602"),
    ),
    "a session the server forgot, 1.x": (
        RpcError(32600, "Session terminated"),
        Facts(http_status=404),
        Verdict(Outcome.DISCONNECTED, "session_expired", cause="http_404"),
    ),
    "a session the server forgot, without a status": (
        RpcError(-32600, "Session terminated"),
        Facts(),
        Verdict(Outcome.DISCONNECTED, "session_expired"),
    ),
    "the same words from the peer": (
        RpcError(-32600, "Session terminated"),
        Facts(answered=True),
        Verdict(Outcome.ERROR, "-32600", "-32600"),
    ),
    "a stream that was closed": (ClosedResourceError(), Facts(), GONE),
    "a connection error": (ConnectionResetError(), Facts(transport_cause="reset"), Verdict(
        Outcome.DISCONNECTED, "connection_closed", cause="reset")),
    "a plain time-out error is the transport's": (
        TimeoutError(),
        Facts(),
        Verdict(Outcome.DEADLINE, "timeout", limit_source="transport"),
    ),
    "validation": (ValueError("no integer"), Facts(), Verdict(Outcome.ERROR, "ValueError")),
    "a caller's limit": (
        asyncio.CancelledError(),
        Facts(cancelled=True, caller_limit_fired=True, deadline=2.0),
        Verdict(Outcome.DEADLINE, "timeout", limit=2.0, limit_source="caller"),
    ),
    "a caller's limit comes before a failed transport": (
        asyncio.CancelledError(),
        Facts(cancelled=True, caller_limit_fired=True, deadline=2.0, transport_failed=True, transport_cause="reset"),
        Verdict(Outcome.DEADLINE, "timeout", cause="reset", limit=2.0, limit_source="caller"),
    ),
    "a transport that cancels its caller": (
        asyncio.CancelledError(),
        Facts(cancelled=True, transport_failed=True, http_status=401),
        Verdict(Outcome.DISCONNECTED, "401", cause="http_401"),
    ),
    "a caller that gives up": (asyncio.CancelledError(), Facts(cancelled=True), Verdict(Outcome.CANCELLED)),
    "a closed coroutine": (GeneratorExit(), Facts(), Verdict(Outcome.CANCELLED)),
    "an interrupt": (KeyboardInterrupt(), Facts(), Verdict(Outcome.CANCELLED)),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_an_exception_has_one_outcome(row: str) -> None:
    error, facts, expected = ROWS[row]
    assert of_exception(error, facts) == expected


@pytest.mark.parametrize(
    ("status", "cause"),
    [(401, "http_401"), (403, "http_403"), (404, "http_404"), (429, "http_429"), (400, "http_4xx"), (418, "http_4xx"),
     (500, "http_5xx"), (503, "http_5xx")],
)  # fmt: skip
def test_a_status_has_a_cause(status: int, cause: str) -> None:
    assert v.http_cause(status) == cause


def test_a_call_on_a_session_that_was_gone_before_is_rejected() -> None:
    assert of_call(GONE, sent=False, session_gone=True) == Verdict(Outcome.REJECTED, "not_connected")
    assert of_call(GONE, sent=True, session_gone=True) is GONE
    assert of_call(GONE, sent=False, session_gone=False) is GONE
    assert of_call(v.OK, sent=False, session_gone=True) is v.OK


def test_built_in_exceptions_are_named_without_their_module() -> None:
    assert v.qualified_name(KeyError()) == "KeyError"
    assert v.qualified_name(asyncio.CancelledError()) == "asyncio.exceptions.CancelledError"
    assert v.qualified_name(ClosedResourceError()).endswith("test_verdicts.ClosedResourceError")


def test_three_buckets_fold_eight_outcomes() -> None:
    assert [(str(o), o.bucket) for o in OUTCOMES] == [
        ("ok", "ok"),
        ("tool_error", "error"),
        ("error", "error"),
        ("deadline", "deadline"),
        ("cancelled", "error"),
        ("disconnected", "error"),
        ("orphaned", "error"),
        ("rejected", "error"),
    ]


FACTS = st.builds(
    Facts,
    answered=st.booleans(),
    http_status=st.none() | st.integers(400, 599),
    transport_cause=st.none() | st.sampled_from(["reset", "process_exit", "stream_ended"]),
    transport_failed=st.booleans(),
    limit=st.none() | st.floats(0, 1e6),
    deadline=st.none() | st.floats(0, 1e6),
    caller_limit_fired=st.booleans(),
    cancelled=st.booleans(),
)
ERRORS: Any = st.one_of(
    st.builds(RpcError, st.integers(), st.text(max_size=20), st.none() | st.builds(TimeoutError)),
    st.sampled_from([ValueError(), TimeoutError(), ConnectionError(), asyncio.CancelledError(), GeneratorExit()]),
)


@given(ERRORS, FACTS)
def test_whatever_is_known_there_is_one_verdict_with_an_error_type(error: BaseException, facts: Facts) -> None:
    verdict = of_exception(error, facts)
    assert verdict.outcome not in {Outcome.OK, Outcome.TOOL_ERROR, Outcome.REJECTED, Outcome.ORPHANED}
    assert (verdict.error_type is None) == (verdict.outcome is Outcome.CANCELLED)
    assert (verdict.outcome is Outcome.DEADLINE) == (verdict.limit_source is not None)
