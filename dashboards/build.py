"""Builds everything: `python -m dashboards.build` writes `dashboards/built`, `--check` says what would differ."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dashboards import files
from dashboards.boards import connector, deadlines, health
from dashboards.defaults import dashboard

BUILT = Path(__file__).parent / "built"
BOARDS = (deadlines.BOARD, connector.BOARD, health.BOARD)


def built() -> dict[str, str]:
    """Every file's path below the output folder, and its text."""
    texts = {f"grafana/{board.uid}.json": as_json(dashboard(board)) for board in BOARDS}
    return texts | {
        "rules/otel-mcp-recording.yml": files.recording_rules(),
        "rules/otel-mcp-alerts.yml": files.alert_rules(),
        "provisioning/dashboards/otel-mcp.yaml": files.dashboard_provider(),
        "provisioning/datasources/otel-mcp.yaml": files.data_sources(),
        "prometheus.example.yml": files.scrape_example(),
        "alertmanager.example.yml": files.alertmanager_example(),
    }


def as_json(content: dict[str, object]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def differing(folder: Path = BUILT) -> list[str]:
    """Files whose committed text is not what this program makes, left-overs included."""
    texts = built()
    committed = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    wrong = [n for n, text in texts.items() if n not in committed or (folder / n).read_text("utf-8") != text]
    return sorted(wrong + list(committed - set(texts)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dashboards.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a committed file differs")
    if parser.parse_args().check:
        wrong = differing()
        for name in wrong:
            print(
                f"dashboards/built/{name} differs from what is built: run python -m dashboards.build", file=sys.stderr
            )
        return 1 if wrong else 0
    for name, text in built().items():
        path = BUILT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
