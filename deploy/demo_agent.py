"""The demonstration's agent and servers without the screen, for containers: exports as its environment says.

`python deploy/demo_agent.py [--seconds N] [--pause N]` runs an agent for N seconds, then another one, for ever.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from otel_mcp._demo import agent
from otel_mcp._demo.cast import import_path, staged


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=86400.0, help="how long each agent works")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between one agent and the next")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the servers are ended, too
    servers = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | import_path()
    with tempfile.TemporaryDirectory() as folder, staged(Path(folder), servers) as stage:
        watched = {"OTEL_MCP_CONNECTORS": stage.connectors()}
        command = [sys.executable, "-m", "otel_mcp", "run", "--", sys.executable, agent.__file__]
        command += [str(Path(folder) / "agent.json"), "--seconds", str(given.seconds)]
        while True:
            subprocess.run(command, check=False, env={**os.environ, **import_path(), **watched})  # noqa: S603
            time.sleep(given.pause)


if __name__ == "__main__":
    sys.exit(main())
