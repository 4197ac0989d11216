"""Stands in for the recorder and the ledger while only start-up is looked at: it keeps what it was given."""

import sys
import types

bound = {"traces": None, "metrics": None, "logs": None}
calls_closed = []


class Recorder:
    call_log = None
    settings = None
    before_attempt = None

    def bind_tracer_provider(self, provider):
        bound["traces"] = provider

    def bind_meter_provider(self, provider):
        bound["metrics"] = provider

    def bind_logger_provider(self, provider):
        bound["logs"] = provider

    def reset(self):
        self.call_log = None
        bound.update(traces=None, metrics=None, logs=None)


class Ledger:
    def close_open_calls(self):
        calls_closed.append(1)

    def reset_after_fork(self):
        calls_closed.clear()


recorder, ledger = Recorder(), Ledger()


def install():
    for name, values in (
        ("otel_mcp._record.recorder", {"recorder": recorder}),
        ("otel_mcp._ledger.ledger", {"ledger": ledger}),
        ("otel_mcp._ledger", {}),
    ):
        module = types.ModuleType(name)
        module.__dict__.update(values)
        sys.modules[name] = module
