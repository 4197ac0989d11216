"""What the agent's Prometheus endpoint says, as rows of a live table."""

from __future__ import annotations

import json
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

CALLS = "otel_mcp_client_calls_total"
OLDEST = "otel_mcp_client_call_oldest_age_seconds"
STATE = "otel_mcp_client_connector_state"
_SCRAPE_LIMIT = 2.0  # the table is drawn twice a second; a scrape that takes longer is worth no more than the last one


@dataclass
class Row:
    """One connector at the moment of a scrape; ``open_for`` in seconds."""

    calls: dict[str, int] = field(default_factory=dict)
    state: str = ""
    open_for: float = 0.0
    phase: str = ""


class Endpoint:
    """Finds the agent's endpoint in the folder where it says its address, and reads it."""

    def __init__(self, targets: Path) -> None:
        self._targets = targets
        self.url: str | None = None

    def rows(self) -> dict[str, Row] | None:
        """A row a connector; ``None`` while nothing answers."""
        self.url = self.url or self._find()
        if self.url is None:
            return None
        try:
            with urllib.request.urlopen(self.url, timeout=_SCRAPE_LIMIT) as answer:  # noqa: S310 - loopback
                return parse(answer.read().decode())
        except OSError:
            return None

    def _find(self) -> str | None:
        for file in self._targets.glob("*.json"):
            try:
                (entry,) = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            return f"http://{entry['targets'][0]}/metrics"
        return None


def parse(text: str) -> dict[str, Row]:
    """The rows in the text of a scrape."""
    rows: dict[str, Row] = defaultdict(Row)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            connector = sample.labels.get("otel_mcp_connector", "")
            if sample.name == CALLS:
                rows[connector].calls[sample.labels["otel_mcp_outcome"]] = int(sample.value)
            elif sample.name == STATE and sample.value == 1:
                rows[connector].state = sample.labels["otel_mcp_state"]
            elif sample.name == OLDEST and sample.value > rows[connector].open_for:
                rows[connector].open_for = sample.value
                rows[connector].phase = sample.labels["otel_mcp_phase"]
    return dict(rows)
