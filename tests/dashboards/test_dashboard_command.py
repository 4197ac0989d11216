"""`otel-mcp dashboards --out DIR`: from the wheel where the suite runs on one, else from this checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from simulated_month import ROOT

from dashboards import build
from harness.package import environment
from otel_mcp._cli.main import main
from otel_mcp._dashboards import command


def otel_mcp(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "otel_mcp", "dashboards", *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment())


def written(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


def runbooks() -> dict[str, str]:
    return {f"runbooks/{p.name}": p.read_text() for p in (ROOT / "docs" / "runbooks").glob("*.md")}


def test_everything_that_is_built_and_every_runbook_is_written(tmp_path: Path) -> None:
    done = otel_mcp("--out", str(tmp_path / "new" / "folder"))
    assert (done.returncode, done.stderr) == (0, "")
    assert written(tmp_path / "new" / "folder") == build.built() | runbooks()
    assert "grafana/otel-mcp-deadlines.json" in done.stdout


def test_alerts_link_to_the_given_grafana_and_runbooks(tmp_path: Path) -> None:
    done = otel_mcp(
        "--out", str(tmp_path), "--grafana-url", "https://grafana.example/", "--runbook-url", "https://wiki.example/mcp"
    )
    assert done.returncode == 0
    rules = yaml.safe_load((tmp_path / "rules" / "otel-mcp-alerts.yml").read_text())["groups"]
    for rule in (rule for group in rules for rule in group["rules"]):
        notes = rule["annotations"]
        assert notes["dashboard_url"].startswith("https://grafana.example/d/otel-mcp-")
        assert notes["runbook_url"] == f"https://wiki.example/mcp/runbooks/{rule['alert']}.md"


def test_a_folder_that_cannot_be_written_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = otel_mcp("--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"Cannot write to {tmp_path / 'file'}: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "required: --out"),
        (["--out", ""], "argument --out: '' names no folder"),
        (
            ["--out", "x", "--grafana-url", "grafana.example"],
            "--grafana-url: 'grafana.example' is not a URL like https://grafana.example",
        ),
        (["--out", "x", "--runbook-url", ""], "--runbook-url: '' is not a URL like https://wiki.example/mcp"),
    ],
)
def test_what_names_no_folder_or_no_url_is_a_usage_error_and_writes_nothing(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["dashboards", *arguments])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_from_a_wheel_s_layout_the_shipped_files_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "built" / "rules").mkdir(parents=True)
    (tmp_path / "built" / "rules" / "a.yml").write_text("groups: []\n")
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "A.md").write_text("# A\n")
    monkeypatch.setattr(command, "PACKAGE", tmp_path)
    assert sorted(name for name, _ in command.sources()) == ["rules/a.yml", "runbooks/A.md"]
