"""The recording fake and the real hooks take the same words, and the real ones hear the whole story."""

from __future__ import annotations

import inspect

import pytest

from otel_mcp import hooks
from otel_mcp.resilience import _report

from .recorder import Recorder


@pytest.mark.promise("one-record-a-call")
@pytest.mark.parametrize("name", [name for name in vars(_report.Sink) if not name.startswith("_")])
def test_the_hooks_and_the_recorder_take_what_this_layer_says(name: str) -> None:
    said = inspect.signature(getattr(_report.Sink, name)).parameters.keys() - {"self"}

    assert said <= inspect.signature(getattr(hooks, name)).parameters.keys()
    recorded = inspect.signature(getattr(Recorder, name)).parameters
    assert said <= recorded.keys() or any(p.kind is p.VAR_KEYWORD for p in recorded.values())


@pytest.mark.promise("one-record-a-call")
@pytest.mark.parametrize(("ours", "theirs"), [(_report.Call, hooks.Call), (_report.Breaker, hooks.Breaker)])
def test_a_call_and_a_breaker_of_the_hooks_have_what_this_layer_uses(ours: type, theirs: type) -> None:
    for name, method in vars(ours).items():
        if not name.startswith("_"):
            said = inspect.signature(method).parameters.keys()
            assert said <= inspect.signature(getattr(theirs, name)).parameters.keys(), name
