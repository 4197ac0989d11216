"""The wrappers of `call_tool`, `read_resource` and `get_prompt`: one call, exactly one record."""

from __future__ import annotations

import functools
from typing import Any

from otel_mcp._ground import guard
from otel_mcp._ground import names as n
from otel_mcp._ground import verdicts as v
from otel_mcp._ground.outcomes import Outcome
from otel_mcp._ground.patching import Switch
from otel_mcp._ground.verdicts import Facts, Verdict
from otel_mcp._ledger.model import Call, now
from otel_mcp._observe import calls, scopes
from otel_mcp._sdk import clocks, link
from otel_mcp._sdk.requests import is_cancellation


def wrapper(original: Any, method: str, switch: Switch) -> Any:
    """The replacement of a method of `ClientSession` that is a call."""

    @functools.wraps(original)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        opened = _open(self, method, args, kwargs) if switch.on else None
        if opened is None:
            return await original(self, *args, **kwargs)
        token = calls.CURRENT.set(opened)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as error:
            _failed(opened, error)
            raise
        else:
            _returned(opened)
            return result
        finally:
            scopes.leave(calls.CURRENT, token)

    return call


def _open(sdk_session: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """A new call, or None where a layer above has opened one for this very request."""
    try:
        target = None
        if method != n.RESOURCES_READ:
            name = args[0] if args else kwargs.get("name")
            target = name if isinstance(name, str) else None
        if calls.CURRENT.get() is not None and calls.current(method, target) is not None:
            return None
        session = link.entry(sdk_session)
        return calls.begin(session.connector, session.name, method, target, session, layered=False)
    except Exception as error:  # noqa: BLE001 - the call is made without us
        guard.caught("calls", "one call", error)
        return None


def _returned(call: Call) -> None:
    try:
        calls.end(call, call.last or v.OK)
    except Exception as error:  # noqa: BLE001 - the caller gets its result whatever happens here
        guard.caught("calls", "the record of one call", error)


def _failed(call: Call, error: BaseException) -> None:
    try:
        calls.end(call, judge(call, error))
    except Exception as fault:  # noqa: BLE001 - the caller gets its own exception whatever happens here
        with guard.guarded("calls", "the record of one call"):
            calls.end(call, v.of_exception(error, Facts(cancelled=is_cancellation(error))))
        guard.caught("calls", "the record of one call", fault)


def judge(call: Call, error: BaseException) -> Verdict:
    """The attempt's verdict, unless what failed came after its answer: validation, and the hidden listing in it."""
    last = call.last
    if last is not None and last.outcome is not Outcome.OK:
        return last
    hidden = call.hidden_verdict
    if hidden is not None:
        return hidden
    facts = Facts(cancelled=is_cancellation(error))
    if facts.cancelled:
        attempt = call.current
        deadline = attempt.deadline if attempt is not None else float("inf")
        limit = call.limits.get("caller")
        cut = clocks.cut_by_caller(deadline, limit, now() - call.started)
        if cut is not None:
            facts.caller_limit_fired, facts.deadline = True, cut.limit
    return v.of_exception(error, facts)
