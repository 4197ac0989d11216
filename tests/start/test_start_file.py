"""The start file: what every interpreter of an environment does because we are installed in it."""

import importlib
import pkgutil
import shutil
import textwrap
from pathlib import Path

import pytest

from harness.package import FOLDER

ROOT = Path(__file__).parents[2]

STATE = """
import sys
print("hook" if any(type(each).__module__ == "otel_mcp._start.imports" for each in sys.meta_path) else "no hook")
"""
ALONE = ("-S",)
"""Without the environment's own site-packages, where the package may be installed beside the folder under test."""
HEAVY = ("opentelemetry", "prometheus", "wrapt", "logging", "threading", "json", "dataclasses", "mcp")


@pytest.fixture
def site_folder(tmp_path):
    """A folder like site-packages: the start files as the wheel puts them, and the package beside them."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    for name in ("otel_mcp_start.py", "otel_mcp_start.pth", "otel_mcp_start.start"):
        shutil.copy(ROOT / name, folder)
    (folder / "otel_mcp").symlink_to(FOLDER / "otel_mcp")
    (tmp_path / "mcp.py").write_text("client = 'a module that is called mcp and is not the SDK'\n")
    return folder


@pytest.fixture
def start(child, site_folder):
    """Run a script in an interpreter whose site module has read the folder."""

    def run(script=STATE, *, options=(), **variables):
        text = f"import site; site.addsitedir({str(site_folder)!r})\n" + textwrap.dedent(script)
        return child(text, prelude=False, arguments=options, PYTHONPATH=None, **variables)

    return run


def test_without_the_variable_nothing_of_ours_is_imported(start):
    ended = start(STATE + "print([name for name in sys.modules if name.startswith('otel_mcp')])")
    assert (ended.code, ended.out, ended.err) == (0, "no hook\n[]\n", "")


@pytest.mark.parametrize("value", ["false", "0", "no", "off", "", " "])
def test_a_variable_that_says_no_means_no(start, value):
    assert start(OTEL_MCP_ENABLED=value).out == "no hook\n"


@pytest.mark.parametrize("value", ["true", "1", "TRUE", "yes", " on "])
def test_with_the_variable_there_is_an_import_hook_and_nothing_else(start, value):
    ended = start(
        "import sys; before = set(sys.modules)\n" + STATE + "print(sorted(before))",
        OTEL_MCP_ENABLED=value,
    )
    assert (ended.code, ended.err) == (0, "")
    hook, modules = ended.out.splitlines()
    assert hook == "hook"
    loaded = [name for name in eval(modules) if name.startswith(HEAVY) or name.startswith("otel_mcp")]  # noqa: S307
    assert loaded == [
        "otel_mcp", "otel_mcp._start", "otel_mcp._start.autostart", "otel_mcp._start.imports", "otel_mcp._version",
        "otel_mcp_start",
    ]  # fmt: skip


def test_it_works_isolated_and_without_the_environment_of_python(start):
    assert start(options=["-I"], OTEL_MCP_ENABLED="true").out == "hook\n"
    assert start(options=["-E", "-s"], OTEL_MCP_ENABLED="true").out == "hook\n"


def test_a_disabled_instrumentation_is_not_put_in_place(start):
    ended = start(OTEL_MCP_ENABLED="true", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="requests, otel_mcp")
    assert (ended.out, ended.err) == ("no hook\n", "")


def test_a_value_that_is_neither_is_said_once_mcp_is_imported_and_not_before(start):
    quiet = start(OTEL_MCP_ENABLED="maybe")
    assert (quiet.code, quiet.err) == (0, "")
    ended = start("import mcp", OTEL_MCP_ENABLED="maybe")
    assert ended.lines == ["OTEL_MCP_ENABLED='maybe' is not true or false; using false instead"]


def test_a_start_file_left_behind_alone_says_nothing(start, site_folder):
    (site_folder / "otel_mcp_start.py").unlink()
    ended = start(options=ALONE, OTEL_MCP_ENABLED="true")
    assert (ended.code, ended.out, ended.err) == (0, "no hook\n", "")


def test_a_package_that_is_gone_is_one_line_and_the_program_runs(start, site_folder):
    (site_folder / "otel_mcp").unlink()
    ended = start(options=ALONE, OTEL_MCP_ENABLED="true")
    assert (ended.code, ended.out) == (0, "no hook\n")
    assert ended.lines == ["cannot start (ModuleNotFoundError: No module named 'otel_mcp'); the program runs unwatched"]


def test_a_module_called_mcp_that_is_not_the_sdk_is_left_alone(start):
    ended = start("import mcp; print(mcp.client)", OTEL_MCP_ENABLED="true")
    assert (ended.code, ended.out) == (0, "a module that is called mcp and is not the SDK\n"), ended.err


def test_the_file_for_python_3_15_names_the_same_function_and_has_the_same_name():
    entry = (ROOT / "otel_mcp_start.start").read_text().strip()
    assert pkgutil.resolve_name(entry) is importlib.import_module("otel_mcp_start").start
    assert (ROOT / "otel_mcp_start.pth").exists(), "of a pair with one name, Python 3.15 reads only the .start file"


def test_the_path_file_is_one_line_that_looks_at_the_variable_first():
    [line] = (ROOT / "otel_mcp_start.pth").read_text().splitlines()
    assert line.startswith('import os; os.environ.get("OTEL_MCP_ENABLED") and ')
    assert "exec(" not in line
