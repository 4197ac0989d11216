"""Outcomes from the shapes of exceptions: pure functions."""

from __future__ import annotations

import errno

import anyio
import pytest

from otel_mcp.resilience import Outcome
from otel_mcp.resilience._classify import of_error, of_value


class RpcError(Exception):
    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.error = type("ErrorData", (), {"code": code})()


class StatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.response = type("Response", (), {"status_code": status})()


def raised_while_handling(error: Exception, handled: Exception) -> Exception:
    try:
        try:
            raise handled
        except type(handled):
            raise error from None
    except type(error) as caught:
        return caught


@pytest.mark.promise("local-deadline-by-context")
@pytest.mark.parametrize("code", [408, -32001])
def test_a_code_of_ours_with_a_timeout_behind_it_is_our_deadline(code: int) -> None:
    assert of_error(raised_while_handling(RpcError(code), TimeoutError())).outcome is Outcome.DEADLINE


@pytest.mark.promise("local-deadline-by-context")
@pytest.mark.parametrize("code", [408, -32001])
def test_the_same_code_sent_by_the_peer_is_an_error(code: int) -> None:
    verdict = of_error(RpcError(code))

    assert (verdict.outcome, verdict.error_type) == (Outcome.ERROR, str(code))


@pytest.mark.promise("local-deadline-by-context")
def test_a_timeout_that_was_handled_before_the_call_began_is_no_word_about_the_call() -> None:
    earlier = TimeoutError()
    error = raised_while_handling(RpcError(-32001), earlier)

    assert of_error(error, older=earlier).outcome is Outcome.ERROR


def test_a_socket_the_kernel_gave_up_on_is_the_transport() -> None:
    assert of_error(TimeoutError(errno.ETIMEDOUT, "timed out")).outcome is Outcome.DISCONNECTED


@pytest.mark.parametrize(
    ("error", "error_type", "cause", "strike"),
    [
        (RpcError(-32000, "Connection closed"), "connection_closed", "stream_ended", "transport"),
        (RpcError(32600, "Session terminated"), "session_expired", "http_404", "transport"),
        (RpcError(-32600, "Session terminated"), "session_expired", "http_404", "transport"),
        (RpcError(-32603, "Server returned an error response"), "connection_closed", None, "transport"),
        (StatusError(401), "401", "http_401", "auth"),
        (StatusError(403), "403", "http_403", "auth"),
        (StatusError(418), "418", "http_4xx", "transport"),
        (StatusError(429), "429", "http_429", "rate_limit"),
        (StatusError(503), "503", "http_5xx", "transport"),
        (BrokenPipeError(), "connection_closed", "reset", "transport"),
        (anyio.BrokenResourceError(), "connection_closed", None, "transport"),
    ],
)
def test_a_lost_connection_is_disconnected_with_its_cause(
    error: Exception, error_type: str, cause: str | None, strike: str
) -> None:
    verdict = of_error(error)

    assert (verdict.outcome, verdict.error_type, verdict.cause, verdict.strike) == (
        Outcome.DISCONNECTED,
        error_type,
        cause,
        strike,
    )


def test_a_group_of_one_is_its_one_exception() -> None:
    group = type("Group", (Exception,), {"exceptions": (StatusError(503),)})()

    assert of_error(group).error_type == "503"


def test_an_exception_of_the_program_has_its_qualified_name() -> None:
    assert of_error(KeyError("x")).error_type == "KeyError"
    assert of_error(RpcError(-32602, "x")).error_type == "-32602"


@pytest.mark.parametrize("name", ["isError", "is_error"])
def test_both_majors_spelling_of_a_tool_error_is_read(name: str) -> None:
    assert of_value(type("Result", (), {name: True, "content": None})()).outcome is Outcome.TOOL_ERROR
    assert of_value(type("Result", (), {name: False})()).outcome is Outcome.OK
