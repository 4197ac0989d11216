"""What `otel-mcp doctor` has looked at, as data: sections of facts, and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Section:
    """One part of the picture.

    `facts` are printed in their order, `None` as a dash. A finding is one sentence that says what is wrong, with the
    value that matters, and what to do. A note is a sentence too, of what may well be meant so.
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def to_json(sections: list[Section]) -> dict[str, Any]:
    """As `otel-mcp doctor --json` prints it."""
    findings = [{"section": section.name, "sentence": each} for section in sections for each in section.findings]
    notes = [{"section": section.name, "sentence": each} for section in sections for each in section.notes]
    facts = {section.name: section.facts for section in sections}
    return {"schema": 1, **facts, "findings": findings, "notes": notes}


def to_text(sections: list[Section]) -> str:
    """Plain and aligned; the findings stand last, where a terminal ends."""
    width = max((len(name) for section in sections for name in section.facts), default=0)
    lines: list[str] = []
    for section in sections:
        facts = section.facts or {"none": ""}
        lines += [
            section.name,
            *(f"  {name.ljust(width)}  {_shown(value)}".rstrip() for name, value in facts.items()),
            "",
        ]
    findings = [each for section in sections for each in section.findings]
    lines.append(f"findings: {len(findings)}" if findings else "nothing stands in the way")
    notes = [f"note: {each}" for section in sections for each in section.notes]
    return "\n".join([*lines, *(f"  - {each}" for each in findings), *notes])


def _shown(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "".join(character if character.isprintable() else "?" for character in str(value))
