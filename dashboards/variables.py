"""Dashboard variables."""

from __future__ import annotations

from typing import Any

from dashboards import settings
from dashboards.queries import CONNECTOR
from otel_mcp._ground import catalogue

Variable = dict[str, Any]
ALL = {"text": ["All"], "value": ["$__all"]}


def datasource() -> Variable:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def traces() -> Variable:
    return {"name": "traces", "label": "Traces", "type": "datasource", "query": "tempo", "hide": 0}


def labels(name: str, title: str, query: str, *, multi: bool = True) -> Variable:
    made: Variable = {
        "name": name,
        "label": title,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "query": {"qryType": 1, "query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "multi": multi,
        "includeAll": multi,
    }
    return made | ({"allValue": ".+", "current": ALL} if multi else {})


def choice(name: str, title: str, description: str, options: dict[str, str], chosen: str) -> Variable:
    """A fixed list: text to value."""
    listed = [{"text": t, "value": v, "selected": t == chosen} for t, v in options.items()]
    return {
        "name": name,
        "label": title,
        "description": description,
        "type": "custom",
        "query": ", ".join(f"{t} : {v}" for t, v in options.items()),
        "options": listed,
        "current": {"text": chosen, "value": options[chosen]},
        "hide": 0,
        "multi": False,
        "includeAll": False,
    }


def job() -> Variable:
    return labels("job", "Job", f"label_values({catalogue.HOOKS.prometheus}, job)")


def instance() -> Variable:
    return labels("instance", "Instance", f'label_values({catalogue.HOOKS.prometheus}{{job=~"$job"}}, instance)')


def connector(*, multi: bool) -> Variable:
    query = f'label_values({catalogue.CALLS.prometheus}{{job=~"$job", instance=~"$instance"}}, {CONNECTOR})'
    return labels("connector", "Connector", query, multi=multi)


def zone_name(hours: float) -> str:
    sign = "-" if hours < 0 else "+"
    return f"UTC{sign}{int(abs(hours))}" + ("½" if hours % 1 else "") if hours else "UTC"


def zone() -> Variable:
    options = {zone_name(z): f"{z:g}" for z in settings.ZONES}
    return choice("tz", "Hours in", "Hours of the day are counted in this zone.", options, "UTC")


def min_calls() -> Variable:
    options = {str(n): str(n) for n in settings.MIN_CALLS}
    said = "Cells with fewer calls stay empty."
    return choice("min_calls", "Minimum of calls", said, options, str(settings.MIN_CALLS_DEFAULT))


def recorded() -> Variable:
    """`no` matches no series; `.*` matches the recorded ones and, as `!~`, shuts the raw ones out."""
    said = (
        "Read the hours that the recording rules keep: fast over days and weeks, blind to ranges shorter than an "
        "hour. The choice of instances then has no effect."
    )
    return choice("recorded", "Recorded series", said, {"off": "no", "on": ".*"}, "off")
