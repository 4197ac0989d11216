"""What `make test-hosts` reads at the top of the hosts' test files, and what it writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import page
from hosts.__main__ import hosts, package
from matrix.results import Result

from harness.signals import TABLE


def write(folder: Path, **files: str) -> None:
    for name, head in files.items():
        (folder / f"test_{name}.py").write_text(head, encoding="utf-8")


def test_every_host_pins_the_package_that_it_was_tried_with() -> None:
    for host in hosts().values():
        assert "==" in host.requirements[0], host.name


def test_a_host_has_its_requirements_its_newest_python_and_its_further_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        alpha="# requires: alpha==1\n# requires: beta==2\n# python: 3.12\n\n# requires: none==0\n",
        alpha_story="# with: alpha\n",
        other="# requires: other==3\n",
    )
    found = hosts(tmp_path)
    assert {name: (host.requirements, host.newest) for name, host in found.items()} == {
        "alpha": (("alpha==1", "beta==2"), (3, 12)),
        "other": (("other==3",), None),
    }
    assert [file.name for file in found["alpha"].files] == ["test_alpha.py", "test_alpha_story.py"]


def test_a_host_for_several_sdks_has_an_environment_for_each(tmp_path: Path) -> None:
    write(tmp_path, alpha="# requires: alpha==1\n# mcp: 1.30.0 2.3.0\n")
    assert {name: host.requirements for name, host in hosts(tmp_path).items()} == {
        "alpha-mcp1.30.0": ("mcp==1.30.0", "alpha==1"),
        "alpha-mcp2.3.0": ("mcp==2.3.0", "alpha==1"),
    }


@pytest.mark.parametrize("head", ["", "# with: nobody\n"])
def test_a_file_that_would_never_run_is_an_error(tmp_path: Path, head: str) -> None:
    write(tmp_path, lonely=head)
    with pytest.raises(ValueError, match=r"test_lonely\.py needs a line"):
        hosts(tmp_path)


def test_a_file_in_a_further_folder_and_another_version_go_with_their_host(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path, alpha="# requires: alpha==1\n# requires: mcp==2\n# again: mcp==1.30\n")
    write(tmp_path / "more", kinds="# with: alpha\n")
    found = hosts(tmp_path, tmp_path / "more")
    assert {name: host.requirements for name, host in found.items()} == {
        "alpha": ("alpha==1", "mcp==2"),
        "alpha-mcp1.30": ("alpha==1", "mcp==1.30"),
    }
    assert {tuple(file.name for file in host.files) for host in found.values()} == {("test_alpha.py", "test_kinds.py")}


def test_the_page_of_a_run_has_what_was_seen_and_what_could_not_be_installed() -> None:
    one = Result("alpha", passed=3, packages="alpha 1, mcp 2", python="3.12")
    one.tables[TABLE] = {"ok": True, "deadline": True, "breaker": True, "keepalive probe": False}
    rows = page.text([one, Result("beta", skipped=1, reason="cannot be installed: no beta")]).splitlines()[-2:]
    assert rows == [
        "| alpha | alpha 1, mcp 2 | 3.12 | yes |  | yes |  |  |  | breaker |",
        "| beta |  |  |  |  |  |  |  |  | cannot be installed: no beta |",
    ]


def rows_of_the_page() -> dict[str, str]:
    lines = page.FILE.read_text(encoding="utf-8").splitlines()
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}


@pytest.mark.parametrize("name", hosts())
def test_the_page_has_the_hosts_with_the_versions_that_their_files_ask_for(name: str) -> None:
    row = rows_of_the_page()[name]
    pinned = [requirement for requirement in hosts()[name].requirements if "==" in requirement]
    told = [f"{package(requirement)} {requirement.partition('==')[2]}" for requirement in pinned]
    assert "cannot be installed" in row or all(each in row for each in told)


def signals(file: Path) -> Iterator[str]:
    """What a test file says that it sees, where it says so in so many words."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        words = [given.value for given in node.args if isinstance(given, ast.Constant)]
        if ast.unparse(node.func) == "shows" or ast.unparse(node).startswith("table_row(SIGNALS"):
            yield from words


@pytest.mark.parametrize("name", hosts())
def test_the_page_has_the_signals_that_the_tests_of_a_host_say_that_they_see(name: str) -> None:
    said = {signal for file in hosts()[name].files for signal in signals(file)} - {*page.COMMON}
    last_column = rows_of_the_page()[name].removesuffix(" |").rpartition(" | ")[2]
    assert last_column.startswith("cannot be installed") or said <= set(last_column.split(", "))
