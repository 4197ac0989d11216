"""The endpoint towards clients that mean no good."""

from __future__ import annotations

from harness.children import run_script

START = """
import http.client, socket, sys, time
from otel_mcp._start import endpoint, runtime
endpoint._REQUEST_SECONDS = 0.3
runtime.ensure_started()
host, _, port = runtime.in_force()["endpoint"].rpartition(":")

def ask(method, path="/metrics", headers=None):
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer
"""
ANY_PORT = {"OTEL_EXPORTER_PROMETHEUS_PORT": "0"}


def test_it_answers_get_and_head_and_nothing_else_and_gives_no_page_of_another_site_access() -> None:
    done = run_script(
        START
        + """
print([ask(method).status for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE")])
print([ask("GET", path).status for path in ("/../../etc/passwd", "//etc/passwd", "/metrics/../x", "/" + "x" * 60000)])
print([name for name in ask("GET", headers={"Origin": "http://evil.example"}).headers if "ccess" in name])
""",
        env=ANY_PORT,
    )
    assert done.stdout.splitlines() == ["[200, 200, 501, 501, 501, 501, 501]", "[404, 404, 404, 404]", "[]"], (
        done.stderr
    )
    assert done.stderr == ""


def test_a_client_that_says_nothing_is_dropped_and_holds_nobody_up() -> None:
    done = run_script(
        START
        + """
silent = [socket.create_connection((host, int(port)), timeout=20) for _ in range(20)]
print(ask("GET").status)
print({client.recv(1) for client in silent})
""",
        env=ANY_PORT,
    )
    assert done.stdout.splitlines() == ["200", "{b''}"], done.stderr
