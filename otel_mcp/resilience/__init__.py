"""Calls that end: deadline, retry, breaker, and a connector that owns its session.

Works on asyncio and trio, with mcp 1.x and 2.x, and without any OpenTelemetry set-up. Where `otel_mcp` watches the
process, what happens here is reported. Needs the extra ``resilience``. All times are seconds.
"""

from otel_mcp._ground.outcomes import Outcome
from otel_mcp.resilience._breaker import BreakerStatistics, CircuitBreaker, Permit, Strike
from otel_mcp.resilience._connector import Connector, ConnectorStatistics
from otel_mcp.resilience._deadline import call_with_deadline
from otel_mcp.resilience._errors import (
    BreakerOpen,
    CallEndedAbruptly,
    CooldownOutlastsRun,
    DeadlineInverted,
    NotConnected,
    ReconnectedDuringCall,
    ResilienceError,
)
from otel_mcp.resilience._guarded import guarded_call
from otel_mcp.resilience._keepalive import KeepaliveStatistics
from otel_mcp.resilience._reconnect import ReconnectPolicy
from otel_mcp.resilience._result import CallResult
from otel_mcp.resilience._retry import RetryPolicy, call_with_retry

__all__ = [
    "BreakerOpen",
    "BreakerStatistics",
    "CallEndedAbruptly",
    "CallResult",
    "CircuitBreaker",
    "Connector",
    "ConnectorStatistics",
    "CooldownOutlastsRun",
    "DeadlineInverted",
    "KeepaliveStatistics",
    "NotConnected",
    "Outcome",
    "Permit",
    "ReconnectPolicy",
    "ReconnectedDuringCall",
    "ResilienceError",
    "RetryPolicy",
    "Strike",
    "call_with_deadline",
    "call_with_retry",
    "guarded_call",
]
