"""What `make test-hosts` reads at the top of the hosts' test files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts.__main__ import hosts


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


@pytest.mark.parametrize("head", ["", "# with: nobody\n"])
def test_a_file_that_would_never_run_is_an_error(tmp_path: Path, head: str) -> None:
    write(tmp_path, lonely=head)
    with pytest.raises(ValueError, match=r"test_lonely\.py needs a line"):
        hosts(tmp_path)
