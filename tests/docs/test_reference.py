"""The pages for users say what the catalogue says, and their samples are valid."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import promql_parser
import pytest
import yaml

from harness.real_parts import find
from otel_mcp._cli import doctor
from otel_mcp._ground import catalogue as c

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = re.compile(r"`([^`]+)`")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its first two lines."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_table_of_metrics_is_the_catalogue() -> None:
    told = [(*cells[:2], tuple(CODE.findall(cells[2])), cells[3]) for cells in rows(page("metrics.md"), "Metrics")]
    assert told == [
        (f"`{row.prometheus}`", row.kind, tuple(key.replace(".", "_") for key in row.keys), row.description)
        for row in c.INSTRUMENTS
    ]


def test_the_table_of_events_is_the_catalogue() -> None:
    text = page("metrics.md")
    told = {CODE.findall(event)[0]: tuple(CODE.findall(fields)) for event, fields in rows(text, "Call log")}
    assert told == c.LOG_EVENTS
    sentence = re.search(r"Every line has (.*?), and:", text, re.DOTALL)
    assert sentence is not None
    assert tuple(CODE.findall(sentence[1])) == c.LOG_COMMON


def suffixed() -> dict[str, tuple[str, ...]]:
    """Every series name of a scrape and its labels."""
    ends = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    return {f"{row.prometheus}{end}": row.keys for row in c.INSTRUMENTS for end in ends[row.kind]}


@pytest.mark.parametrize(
    "query", [CODE.findall(cells[1])[0] for cells in rows(page("metrics.md"), "Which question, which query")]
)
def test_a_query_parses_and_names_only_series_and_labels_that_there_are(query: str) -> None:
    promql_parser.parse(query)
    names = set(re.findall(r"\b(?:otel_mcp|mcp)_\w+(?=[{\[ ])", query))
    assert names
    labels = {key.replace(".", "_") for name in names for key in suffixed()[name]} | {"le"}
    used = set(re.findall(r"(\w+)(?:=|!=|=~)\"", query))
    for group in re.findall(r"by \(([^)]*)\)", query):
        used |= set(group.split(", "))
    assert used - labels == set()


@pytest.mark.parametrize("name", ["containers.md", "configuration.md"])
def test_a_scrape_configuration_is_one_for_prometheus(name: str, tmp_path: Path) -> None:
    samples = re.findall(r"^```yaml\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
    assert samples
    for sample in samples:
        assert "scrape_configs" in yaml.safe_load(sample)
        # Debian's build leaves Kubernetes out; the rest of that sample is checked with fixed targets in its place.
        known = re.sub(r"kubernetes_sd_configs: .*", "static_configs: [{targets: ['127.0.0.1:9464']}]", sample)
        (tmp_path / "prometheus.yml").write_text(known)
        command = [find("promtool", "prometheus"), "check", "config", "--syntax-only", str(tmp_path / "prometheus.yml")]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", ["containers.md", "doctor.md", "examples.md", "metrics.md", "privacy.md"])
def test_every_variable_on_a_page_is_on_the_page_of_variables(name: str) -> None:
    known = page("configuration.md")
    named = set(re.findall(r"\bOTEL_[A-Z_]+", page(name))) - {"OTEL_PROPAGATORS"}
    assert [each for each in sorted(named) if each not in known] == []


def test_the_parts_of_doctor_are_those_on_its_page() -> None:
    told = re.findall(r"^\| ([a-z ]+) \|", page("doctor.md"), re.MULTILINE)
    assert told == ["part", *(section.name for section in doctor.examine())]


def test_the_sample_for_an_ordinary_end_makes_sigterm_one() -> None:
    [sample] = re.findall(r"^```python\n(.*?)^```", page("containers.md"), re.MULTILINE | re.DOTALL)
    script = f"{sample}\nimport atexit, os\natexit.register(print, 'ended')\nos.kill(os.getpid(), signal.SIGTERM)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n")


def test_every_page_is_linked_from_the_readme_or_from_a_page_that_is() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        current = waiting.pop()
        if current in seen or not current.exists():
            continue
        seen.add(current)
        links = re.findall(r"\]\(([^)#:]+\.md)", current.read_text(encoding="utf-8"))
        waiting += [(current.parent / link).resolve() for link in links]
    assert sorted(str(each.relative_to(DOCS)) for each in DOCS.glob("*.md") if each.resolve() not in seen) == []
