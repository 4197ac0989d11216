"""What otel_mcp records, in memory, for the tests of programs that call MCP servers.

    with testing.capture() as seen:
        run_my_agent()
    assert [(call.tool, call.outcome) for call in seen.calls] == [("search", "ok")]

Nothing global is set and no port is opened. Times are seconds.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from otel_mcp._ground.settings import Settings
from otel_mcp._ledger.ledger import ledger
from otel_mcp._ledger.statistics import Statistics, snapshot
from otel_mcp._observe import scopes
from otel_mcp._record.recorder import recorder

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

__all__ = ["Call", "Capture", "Event", "Point", "Span", "capture"]

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the call log: ``call``, ``connect``, ``session_end``, … as `docs/contract.md` lists them."""

    name: str
    connector: str | None
    transport: str | None
    fields: Attributes
    """The event's own fields by the names of the call log."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that has ended. `fields` has everything; the rest are the fields that tests ask for most."""

    connector: str | None
    transport: str | None
    method: str
    tool: str | None
    outcome: str
    bucket: str
    elapsed: float
    """Seconds, as the caller saw it."""
    attempts: int
    error_type: str | None
    cause: str | None
    phase: str
    limit: float | None
    limit_source: str | None
    sent: bool
    fields: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One span that has ended; ids are hexadecimal."""

    name: str
    kind: str
    """``CLIENT`` or ``INTERNAL``."""
    status: str
    """``UNSET`` or ``ERROR``."""
    attributes: Attributes
    trace_id: str
    span_id: str
    parent_id: str | None
    links: tuple[str, ...]
    """Ids of the spans it is linked to."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a metric: `value` of a counter or gauge, the sum of a histogram, whose `count` is not None."""

    attributes: Attributes
    value: float
    count: int | None = None


class Capture:
    """What was recorded since `capture` was entered. Every look is a snapshot; after the block, the last one."""

    def __init__(self, spans: InMemorySpanExporter, metrics: InMemoryMetricReader, log: _Log) -> None:
        self._spans = spans
        self._metrics = metrics
        self._log = log
        self._last: tuple[Statistics, MetricsData | None] | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        """Calls that have ended, in that order."""
        return tuple(map(_call, self.events("call")))

    @property
    def spans(self) -> tuple[Span, ...]:
        """Spans that have ended, in that order."""
        return tuple(map(_span, self._spans.get_finished_spans()))

    def events(self, name: str | None = None) -> tuple[Event, ...]:
        """Events of the call log, all or those called `name`, in the order in which they were told."""
        return tuple(event for event in self._log.entries() if name is None or event.name == name)

    def metric(self, name: str, attributes: Attributes | None = None) -> tuple[Point, ...]:
        """Points of a metric that have these attributes (and maybe others); empty if there are none."""
        wanted = (attributes or {}).items()
        return tuple(point for point in self._points(name) if wanted <= point.attributes.items())

    def total(self, name: str, attributes: Attributes | None = None) -> float:
        """The sum over `metric(name, attributes)`: of the values, for a histogram of the counts."""
        points = self.metric(name, attributes)
        return sum(point.value if point.count is None else point.count for point in points)

    def statistics(self) -> Statistics:
        """As `otel_mcp.statistics`: connectors, calls by outcome, what is open now."""
        return self._look()[0]

    def _look(self) -> tuple[Statistics, MetricsData | None]:
        return self._last or (snapshot(ledger), self._metrics.get_metrics_data())

    def _keep(self) -> None:
        self._last = self._look()
        self._log.entries()

    def _points(self, name: str) -> Iterator[Point]:
        data = self._look()[1]
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        yield from map(_point, metric.data.data_points)


_capturing: Final = threading.Lock()


@contextlib.contextmanager
def capture() -> Iterator[Capture]:
    """Watch MCP sessions in this process for the length of the block; sessions opened before it are not seen.

    Whatever the program or the start file had put in place stands aside and comes back afterwards, the figures of
    `otel_mcp.statistics` too.

    Raises:
        RuntimeError: a capture is in use already; there is one a process at a time.
    """
    if not _capturing.acquire(blocking=False):
        raise RuntimeError("otel_mcp.testing.capture() is in use already; one at a time in a process, leave it first")
    try:
        with contextlib.ExitStack() as stack:
            yield _begin(stack)
    finally:
        _capturing.release()


def _begin(stack: contextlib.ExitStack) -> Capture:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    stack.callback(_restore(ledger))
    stack.callback(_restore(recorder))
    ledger.reset()
    ledger.name_rules = ()
    ledger.labels.tool_labels = Settings().tool_labels
    _watch(stack)
    spans, reader, log = InMemorySpanExporter(), InMemoryMetricReader(), _Log()
    tracers = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    stack.callback(meters.shutdown)
    recorder.metrics.flush()  # sessions that are open keep their series, in which the program's values wait
    recorder.reset()
    recorder.settings = Settings()
    recorder.before_attempt = None
    recorder.call_log = log
    recorder.bind_tracer_provider(tracers)
    recorder.bind_meter_provider(meters)
    seen = Capture(spans, reader, log)
    stack.callback(seen._keep)
    return seen


def _restore(owner: object) -> Callable[[], None]:
    before = dict(vars(owner))
    return lambda: vars(owner).update(before)


def _watch(stack: contextlib.ExitStack) -> None:
    """Put the patches in, unless they are; nothing is started by them until the block is left."""
    from otel_mcp._ground.patching import patch_set
    from otel_mcp._start import autostart, imports

    watched = patch_set("mcp").switch.on
    stack.enter_context(scopes.nothing_starts())
    with contextlib.suppress(ImportError):
        import mcp  # noqa: F401 - where the start file waits for it, it has to come now
    if not watched:
        stack.callback(autostart.disarm)
        autostart.arm()
    scopes.starters[:] = [imports.settle]  # hosts are patched as they finish importing, providers stay as they are


Fields = Attributes | Callable[[], Attributes]


class _Log:
    """Stands where the call log is written, and like it asks for the fields a little later than it is told."""

    def __init__(self) -> None:
        self._told: list[tuple[str, str | None, str | None, Fields]] = []
        self._events: list[Event] = []

    def put(self, event: str, time_ns: int, connector: str | None, transport: str | None, fields: Fields) -> None:
        self._told.append((event, connector, transport, fields))

    def entries(self) -> list[Event]:
        for name, connector, transport, fields in self._told[len(self._events) :]:
            values = fields() if callable(fields) else fields
            self._events.append(Event(name, connector, transport, MappingProxyType(dict(values))))
        return list(self._events)


def _call(event: Event) -> Call:
    names = ("method", "tool", "outcome", "bucket", "elapsed", "attempts", "error_type", "cause", "phase", "limit",
             "limit_source", "sent")  # fmt: skip
    said = {name: event.fields[name] for name in names}
    return Call(connector=event.connector, transport=event.transport, fields=event.fields, **said)


def _span(span: ReadableSpan) -> Span:
    context: Any = span.get_span_context()
    return Span(
        name=span.name,
        kind=span.kind.name,
        status=span.status.status_code.name,
        attributes=MappingProxyType(dict(span.attributes or {})),
        trace_id=format(context.trace_id, "032x"),
        span_id=format(context.span_id, "016x"),
        parent_id=format(span.parent.span_id, "016x") if span.parent is not None else None,
        links=tuple(format(link.context.span_id, "016x") for link in span.links),
    )


def _point(point: Any) -> Point:
    attributes = MappingProxyType(dict(point.attributes or {}))
    count = getattr(point, "count", None)
    return Point(attributes, point.value, None) if count is None else Point(attributes, point.sum, count)
