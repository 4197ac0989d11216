"""What happens at the start of every Python process in which the variable is set."""

from __future__ import annotations

import ast

from harness.children import run_script

# An audit hook sees each file, socket, thread and process; a mapping that notes what it is asked for stands for
# os.environ.
PROGRAM = """
import importlib, os, sys
import otel_mcp  # found, so that what the import system opens for it is not counted below
seen, asked = set(), set()

class Noting(dict):
    def get(self, name, default=None):
        asked.add(name)
        return super().get(name, default)
    def __getitem__(self, name):
        asked.add(name)
        return super().__getitem__(name)

def hook(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.spawn", "_thread.start_new_thread")):
        seen.add(event)
    elif event == "open" and not str(arguments[0]).endswith((".py", ".pyc")):
        seen.add(f"open {arguments[0]}")

os.environ = Noting(os.environ)
sys.addaudithook(hook)
import otel_mcp_start
otel_mcp_start.start()
print(sorted(seen))
print(sorted(asked))
print(type(sys.meta_path[0]).__module__)
"""


def test_the_start_opens_no_file_no_socket_and_no_thread_and_reads_only_variables_of_opentelemetry() -> None:
    done = run_script(PROGRAM, env={"OTEL_MCP_ENABLED": "true"})
    opened, asked, hook = done.stdout.splitlines()
    assert opened == "[]", done.stderr
    names = ast.literal_eval(asked)
    assert "OTEL_MCP_ENABLED" in names
    assert [name for name in names if not name.startswith("OTEL_")] == []
    assert hook == "otel_mcp._start.imports"
