"""The pages about start-up say what is true, and their samples run."""

import re
from pathlib import Path

import pytest

from otel_mcp._ground.catalogue import VARIABLES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "start.md", ROOT / "docs" / "configuration.md"]


def samples(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_configuration_page_names_every_variable_of_ours_and_no_other():
    text = (ROOT / "docs" / "configuration.md").read_text()
    assert set(re.findall(r"OTEL_MCP_[A-Z_]+", text)) == set(VARIABLES)


def test_every_standard_variable_that_the_code_reads_is_on_the_configuration_page():
    text = (ROOT / "docs" / "configuration.md").read_text()
    code = "".join(path.read_text() for path in (ROOT / "otel_mcp" / "_start").rglob("*.py"))
    read = set(re.findall(r'"(OTEL_(?!MCP)[A-Z_]+)"', code)) - {"OTEL_BSP", "OTEL_BLRP", "OTEL_MCP_RUN"}
    assert sorted(name for name in read if name not in text) == []


@pytest.mark.parametrize("sample", samples(ROOT / "docs" / "start.md"))
def test_a_sample_runs(child, sample):
    ended = child(sample, prelude=False)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_a_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_what_security_says_of_the_start_file_is_the_start_file():
    text = (ROOT / "SECURITY.md").read_text()
    for name in ("otel_mcp_start.pth", "otel_mcp_start.start", "otel_mcp_start.py"):
        assert (ROOT / name).exists()
        assert f"`{name}`" in text
    imported = set(re.findall(r"^import (\w+)", (ROOT / "otel_mcp_start.py").read_text(), re.MULTILINE))
    assert imported == {"os", "sys"}
