"""PromQL, from the catalogue's instruments. Nothing here knows about panels or alerts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboards import settings
from otel_mcp._ground import catalogue, names
from otel_mcp._ground.catalogue import Instrument


def label(key: str) -> str:
    """The Prometheus label of an attribute key."""
    return key.replace(".", "_")


CONNECTOR: Final = label(names.CONNECTOR)
OUTCOME: Final = label(names.OUTCOME)
PHASE: Final = label(names.PHASE)
LIMIT_SOURCE: Final = label(names.LIMIT_SOURCE)
CAUSE: Final = label(names.CAUSE)
TOOL: Final = label(names.GEN_AI_TOOL_NAME)
METHOD: Final = label(names.MCP_METHOD_NAME)
STATE: Final = label(names.STATE)
BREAKER_STATE: Final = label(names.BREAKER_STATE)
BREAKER_CAUSE: Final = label(names.BREAKER_CAUSE)
REASON: Final = label(names.CONNECT_REASON)
LOCK_NAME: Final = label(names.LOCK_NAME)
OVERLAP: Final = label(names.KEEPALIVE_OVERLAP)
UNSAFE: Final = label(names.RETRY_UNSAFE)
HOOK_TARGET: Final = label(names.HOOK_TARGET)
HOOK_STATE: Final = label(names.HOOK_STATE)
COMPONENT: Final = label(names.COMPONENT)
FOLDED: Final = label(names.LABEL)
ERROR_TYPE: Final = label(names.ERROR_TYPE)
TRANSPORT: Final = label(names.NETWORK_TRANSPORT)
PROTOCOL: Final = label(names.MCP_PROTOCOL_VERSION)

DEADLINE: Final = f'{OUTCOME}="deadline"'
ANSWERABLE: Final = f'{OUTCOME}!~"rejected|cancelled"'
"""The denominator of the deadline share. With `rejected` in it, an open breaker would heal the share by itself."""
FAILED: Final = f'{OUTCOME}=~"error|disconnected|orphaned|rejected"'
NOT_CANCELLED: Final = f'{OUTCOME}!="cancelled"'
RECONNECT: Final = f'{REASON}!~"initial|additional"'
"""Hosts that open a session per call connect all day; only the other reasons say that something broke."""


WHOLE: Final = f'{settings.HOURS_LABEL}="{settings.WHOLE_HOURS}"'


@dataclass(frozen=True)
class Scope:
    """The matchers that every selector of one place carries."""

    matchers: tuple[str, ...] = ()
    connector: str = ""

    def series(self, instrument: Instrument, *matchers: str, suffix: str = "") -> str:
        """A selector on the instrument's family (or on its `_bucket`, `_sum`, `_count`).

        Families under OpenTelemetry's own names may come from other instrumentors too; ours carry a connector.
        """
        parts = list(self.matchers)
        if names.CONNECTOR in instrument.keys:
            parts += [self.connector] if self.connector else []
            parts += [f'{CONNECTOR}!=""'] if not instrument.name.startswith("otel_mcp.") else []
        parts += matchers
        return instrument.prometheus + suffix + ("{" + ", ".join(parts) + "}" if parts else "")

    def recorded(self, name: str, *matchers: str) -> str:
        """A selector on a recorded series. Recorded series have no instance."""
        parts = [m for m in (*self.matchers, self.connector) if m and not m.startswith("instance")]
        return name + "{" + ", ".join((*parts, *matchers)) + "}"


BOARD: Final = Scope(('job=~"$job"', 'instance=~"$instance"'), f'{CONNECTOR}=~"$connector"')
ONE: Final = Scope(('job=~"$job"', 'instance=~"$instance"'), f'{CONNECTOR}="$connector"')
FLEET: Final = Scope(('job=~"$job"', 'instance=~"$instance"'))
RULES: Final = Scope()


def total(by: str, vector: str) -> str:
    return f"sum by ({by}) ({vector})" if by else f"sum({vector})"


def increase(scope: Scope, instrument: Instrument, window: str, *matchers: str, by: str = "", suffix: str = "") -> str:
    return total(by, f"increase({scope.series(instrument, *matchers, suffix=suffix)}[{window}])")


def rate(scope: Scope, instrument: Instrument, *matchers: str, by: str = "", suffix: str = "") -> str:
    return total(by, f"rate({scope.series(instrument, *matchers, suffix=suffix)}[$__rate_interval])")


def quantile(q: float, scope: Scope, instrument: Instrument, window: str, *matchers: str, by: str = "") -> str:
    keys = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {increase(scope, instrument, window, *matchers, by=keys, suffix='_bucket')})"


def deadline_share(scope: Scope, window: str, by: str = CONNECTOR) -> str:
    """Calls that ran out of time, as a share of those that could have been answered; absent without a call."""
    deadlines = increase(scope, catalogue.CALLS, window, DEADLINE, by=by)
    return f"{deadlines} / ({increase(scope, catalogue.CALLS, window, ANSWERABLE, by=by)} > 0)"


def lock_share(scope: Scope, window: str, by: str = CONNECTOR) -> str:
    """Time spent waiting for known locks, as a share of the time that calls took."""
    waited = increase(scope, catalogue.LOCK_WAIT_DURATION, window, by=by, suffix="_sum")
    return f"{waited} / ({increase(scope, catalogue.CALL_DURATION, window, by=by, suffix='_sum')} > 0)"


def overflow(scope: Scope) -> str:
    """Series on which the SDK dropped every label, whichever of our instruments they belong to."""
    name = '__name__=~"(otel_mcp|mcp_client)_.+"'
    return "{" + ", ".join((name, *scope.matchers, 'otel_metric_overflow="true"')) + "}"


# --- folding by hour and weekday ----------------------------------------------------------------------------------
def start_of(step: str, zone: str = "") -> str:
    """When the time began that a step of a subquery ends, in the zone.

    A step at 07:00 looks back on 06:30 to 07:00: the plain `hour()` would name one hour too late.
    """
    return f"time() - {settings.SECONDS[step]}" + (f" + 3600 * {zone}" if zone else "")


def hour_of(moment: str) -> str:
    """One element, value 1, whose label `hour` is the hour of the moment, 0 to 23."""
    return f'count_values("hour", hour(vector({moment})))'


def two_digits(vector: str) -> str:
    """The vector with hours 00 to 23 instead of 0 to 23: Grafana sorts labels as text. Once for all of a subquery."""
    return f'label_replace({vector}, "hour", "0$1", "hour", "(.)")'


def weekday_of(moment: str) -> str:
    """One element whose label `weekday` is 0 for Monday to 6 for Sunday."""
    return f'count_values("weekday", (day_of_week(vector({moment})) + 6) % 7)'


def at_hours(vector: str) -> str:
    """The vector in the last minutes of each hour and the first one after it; nothing at other times."""
    kept = settings.KEPT_BEFORE
    return f"{vector} and on () ((minute() + {kept}) % 60 <= {kept})"


def kept_hours(selector: str) -> str:
    """What was recorded around the hour at which a subquery's step stands.

    The window holds the samples of one hour and the stale marker after them, and nothing lies between it and the next
    window. So Prometheus reads the series in one pass. Where a series goes on after a window, it looks for the next
    one in every block anew, at each step: that took four times as long.
    """
    return f"last_over_time({selector}[5m] offset -{settings.KEPT_BEFORE}m)"


def hours_of_zone() -> str:
    """Matches the recorded hours that are hours of the chosen zone.

    Zones that are half an hour off have a point in their number, and then a class of the number's characters matches
    the point of `half.` and its opposite does not match that of `whole.`.
    """
    half, whole = settings.HALF_HOURS[:-1], settings.WHOLE_HOURS[:-1]
    return f'{settings.HOURS_LABEL}=~"{half}[$tz]|{whole}[^$tz]"'


def folded(increases: str, by: str, window: str, step: str, zone: str = "") -> str:
    """Increases of each step, summed over the window by the hour (and weekday) in which the step's time began."""
    began = start_of(step, zone)
    product = f"({increases}) * on () group_left (hour) {hour_of(began)}"
    if "weekday" in by:
        product = f"{product} * on () group_left (weekday) {weekday_of(began)}"
    return total(by, two_digits(f"sum_over_time(({product})[{window}:{step}])"))


def raw_calls(window: str, matcher: str, by: str) -> str:
    """Increases of the raw counter; nothing if the variable says that the recorded series are to be read."""
    return increase(BOARD, catalogue.CALLS, window, matcher, f'{settings.RECORDED_LABEL}!~"$recorded"', by=by)


def kept_calls(recorded: str, hours: str) -> str:
    """Hours of the recorded series; nothing unless the variable says that they are to be read."""
    return kept_hours(BOARD.recorded(recorded, f'{settings.RECORDED_LABEL}=~"$recorded"', hours))


def folded_calls(matcher: str, recorded: str, by: str, window: str) -> str:
    """Calls by cell, from the side that the variable chooses.

    The choice stands outside of the subqueries: inside, both sides would be put together at each of their steps.
    """
    keys = CONNECTOR if CONNECTOR in by else ""
    raw = folded(raw_calls(settings.BUCKET, matcher, keys), by, window, settings.BUCKET, "$tz")
    kept = kept_calls(recorded, hours_of_zone())
    # One element for each connector already, so summing them up would only cost; without the connector it spares joins.
    return f"({raw} or {folded(kept if keys else total('', kept), by, window, '1h', '$tz')})"


def folded_share(by: str, window: str = "$__range", guard: str = "$min_calls") -> str:
    """The deadline share of each cell that has enough calls."""
    deadlines = folded_calls(DEADLINE, settings.RECORDED_DEADLINES, by, window)
    calls = folded_calls(ANSWERABLE, settings.RECORDED_ANSWERABLE, by, window)
    return f"{deadlines} / ({calls} >= {guard})"


def counted_calls(matcher: str, recorded: str, by: str = CONNECTOR, window: str = "$__range") -> str:
    """Calls over the range, from the side that the variable chooses."""
    kept = total(by, f"sum_over_time({kept_calls(recorded, WHOLE)}[{window}:1h])")
    return f"({raw_calls(window, matcher, by)} or {kept})"


def counted_share(by: str = CONNECTOR) -> str:
    """The deadline share over the range; absent without a call."""
    calls = counted_calls(ANSWERABLE, settings.RECORDED_ANSWERABLE, by)
    return f"{counted_calls(DEADLINE, settings.RECORDED_DEADLINES, by)} / ({calls} > 0)"
