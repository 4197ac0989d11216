"""How the package got onto the machine, and how Python was started: which ways to start work there (docs/start.md).

Each program makes one real call. Whether it was watched is read from its call log.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipapp
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.package import FOLDER, environment
from harness.servers import Servers

ROOT = Path(__file__).parents[2]
ON = {"OTEL_MCP_ENABLED": "true"}
DEPENDENCIES = os.pathsep.join(site.getsitepackages())
OTEL_MCP = [sys.executable, "-m", "otel_mcp", "run", "--"]
PROGRAM = """
import sys
if {code}:
    import otel_mcp
    otel_mcp.instrument()
import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env={env})
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.call_tool("echo", {{}})

anyio.run(main)
"""

Calls = Callable[..., int]


def program(server: dict[str, str] | None, *, code: bool = False) -> str:
    return PROGRAM.format(code=code, env=server)


@pytest.fixture
def calls(tmp_path: Path, servers: Servers) -> Calls:
    """Run a command, given the server's command line as further arguments; the calls in its log."""
    server = servers.stdio()

    def run(command: list[str], **variables: str) -> int:
        log = tmp_path / "calls.jsonl"
        log.unlink(missing_ok=True)
        ended = subprocess.run(
            [*command, server.target.command, *server.target.args],
            capture_output=True, text=True, timeout=LONG_ENOUGH, check=False, cwd=tmp_path,
            env=environment(OTEL_MCP_CALL_LOG=str(log), OTEL_METRICS_EXPORTER="none", **variables),
        )  # fmt: skip
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        return len(events(read_jsonl(log), "call"))

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """The program as a file."""

    def write(*, code: bool = False) -> str:
        path = tmp_path / "program.py"
        path.write_text(program({"PYTHONPATH": str(FOLDER)}, code=code))
        return str(path)

    return write


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python whose environment has the package as ``pip install --editable`` puts it, and our dependencies."""
    folder = tmp_path_factory.mktemp("editable")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = ["--python", python, "install", "--quiet", "--no-deps", "--editable", str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, env=environment(), timeout=LONG_ENOUGH)
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "zz_dependencies.pth").write_text(DEPENDENCIES.replace(os.pathsep, "\n"))
    return python


def test_an_editable_install_is_watched_by_the_variable(
    calls: Calls, script: Callable[..., str], editable: str
) -> None:
    where = "import otel_mcp; print(otel_mcp.__file__)"
    found = subprocess.run([editable, "-c", where], capture_output=True, text=True, check=True, env=environment())
    assert found.stdout.startswith(str(ROOT))
    assert calls([editable, script()]) == 0
    assert calls([editable, script()], **ON) == 1


def test_a_package_on_the_path_is_watched_by_the_command_and_not_by_the_variable(
    calls: Calls, script: Callable[..., str], tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    shutil.copytree(FOLDER / "otel_mcp", tmp_path / "target" / "otel_mcp")
    python, path = str(bare / "bin" / "python"), {"PYTHONPATH": f"{tmp_path / 'target'}{os.pathsep}{DEPENDENCIES}"}
    assert calls([python, script()], **path, **ON) == 0
    assert calls([*OTEL_MCP, python, script()], **path) == 1


def test_without_the_site_module_only_code_helps(calls: Calls, script: Callable[..., str]) -> None:
    path = {"PYTHONPATH": f"{FOLDER}{os.pathsep}{DEPENDENCIES}"}
    assert calls([sys.executable, "-S", script()], **path, **ON) == 0
    assert calls([*OTEL_MCP, sys.executable, "-S", script()], **path) == 0
    assert calls([sys.executable, "-S", script(code=True)], **path) == 1


def test_inside_a_zip_application_only_code_helps(calls: Calls, tmp_path: Path) -> None:
    folder, bare = tmp_path / "application", tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python, path = str(bare / "bin" / "python"), {"PYTHONPATH": DEPENDENCIES}
    shutil.copytree(FOLDER / "otel_mcp", folder / "otel_mcp")
    for code, expected in ((False, 0), (True, 1)):
        (folder / "__main__.py").write_text(program({"PYTHONPATH": str(FOLDER)}, code=code))
        zipapp.create_archive(folder, tmp_path / "application.pyz")
        assert calls([python, str(tmp_path / "application.pyz")], **path, **ON) == expected
