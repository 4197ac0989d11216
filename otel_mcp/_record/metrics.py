"""Instruments: histograms that we record, counters and gauges that are read from the ledger on a scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground import catalogue as c
from otel_mcp._ground import names as n
from otel_mcp._ground.guard import guarded
from otel_mcp._ground.labels import Key, Sets
from otel_mcp._ledger import counters, gauges
from otel_mcp._ledger.ledger import Ledger
from otel_mcp._record import pouring
from otel_mcp._record.gathered import Gathered, Series
from otel_mcp._record.points import Shape

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, Meter, MeterProvider, Observation

Reader = Callable[[Ledger], Iterator[gauges.Point]]

OBSERVED: Final[dict[c.Instrument, Reader]] = {
    c.CALLS: counters.calls,
    c.ATTEMPTS: counters.attempts,
    c.RETRIES: counters.retries,
    c.CUTOFFS: counters.cutoffs,
    c.FAULTS: counters.faults,
    c.BREAKER_TRANSITIONS: counters.breaker_transitions,
    c.BREAKER_STRIKES: counters.breaker_strikes,
    c.HOOKS: counters.hooks,
    c.INTERNAL_ERRORS: counters.internal_errors,
    c.LABELS_FOLDED: counters.labels_folded,
    c.REQUEST_ACTIVE: gauges.request_active,
    c.REQUEST_OLDEST_AGE: gauges.request_oldest_age,
    c.CALL_OLDEST_AGE: gauges.call_oldest_age,
    c.CALL_OVERDUE: gauges.call_overdue,
    c.LIMIT: gauges.limit,
    c.LOCK_WAITING: gauges.lock_waiting,
    c.CONNECTOR_STATE: gauges.connector_state,
    c.LAST_INBOUND_AGE: gauges.last_inbound_age,
    c.TOOLS: gauges.tools,
    c.BREAKER_STATE: gauges.breaker_state,
}


class Metrics:
    """The instruments on one meter provider; those of an earlier `bind` say nothing any more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.bound = False
        """Some meter provider receives what is recorded."""
        self._histograms: dict[str, Histogram] = {}
        self._sets: dict[str, Sets[Series]] = {}
        gathered = Gathered(self._record_gathered, self._histogram)
        self.gather: Callable[[Series, float], None] = gathered.add
        """One value that needs no exemplar: recorded soon, together with others, or at a collection."""
        self.flush: Callable[[], None] = gathered.flush
        """Record every value that waits."""
        self._nowhere: Any = None
        """A context without a span. It has an entry, because the SDK takes an empty one for none."""
        self._epoch = 0
        self._keep: list[Any] = []

    def bind(self, provider: MeterProvider | None, version: str) -> None:
        """Create all instruments on a provider; what was bound before goes silent."""
        self.flush()
        self._epoch += 1
        self._histograms = {}
        self._keep = []
        self.bound = False
        if provider is None:
            return
        from opentelemetry.context import Context

        self._nowhere = Context({"otel_mcp": "no exemplar"})
        meter = provider.get_meter(n.SCOPE, version)
        histograms = {}
        for row in c.INSTRUMENTS:
            if row.kind == "histogram":
                histograms[row.name] = meter.create_histogram(
                    row.name, row.unit, row.description, explicit_bucket_boundaries_advisory=row.bounds
                )
            else:
                self._keep.append(self._observe(meter, row, OBSERVED[row]))
        self._histograms = histograms
        self.bound = True
        pouring.works()  # now, and not in the middle of a call

    def _observe(self, meter: Meter, row: c.Instrument, read: Reader) -> Any:
        from opentelemetry.metrics import Observation

        epoch = self._epoch

        def callback(options: CallbackOptions) -> Iterable[Observation]:
            self.flush()  # the SDK calls back before it collects, so what was gathered is in what it collects
            points: list[Observation] = []
            if epoch == self._epoch:
                # A callback that raises would log a traceback at each scrape.
                with guarded("metrics", f"a reading of {row.name}"):
                    points = [Observation(value, attributes) for value, attributes in read(self._ledger)]
            return points

        create = meter.create_observable_counter if row.kind == "counter" else meter.create_observable_gauge
        return create(row.name, [callback], row.unit, row.description)

    def series(self, row: c.Instrument, key: Key, shape: Shape) -> Series:
        """The attribute set of a histogram that a key stands for; made once."""
        sets = self._sets.get(row.name)
        if sets is None:
            sets = self._sets.setdefault(row.name, Sets(self._ledger.labels))
        known = sets.values.get(key)
        if known is not None:
            return known
        return sets.get(key, shape.folded(key), lambda key: Series(row.name, shape.attributes(key)))

    def record(self, series: Series, value: float, context: Any = None) -> None:
        """One histogram point, if a provider is bound."""
        with guarded("metrics", "a histogram point"):  # an exemplar filter of the program's raises what it likes
            self._record(series, value, context)

    def _record_gathered(self, series: Series, value: float) -> None:
        self._record(series, value, self._nowhere)  # guarded where it is gathered

    def _record(self, series: Series, value: float, context: Any) -> None:
        histogram = self._histogram(series)
        if histogram is not None:
            histogram.record(value, series.attributes, context)

    def _histogram(self, series: Series) -> Histogram | None:
        return self._histograms.get(series.name)
