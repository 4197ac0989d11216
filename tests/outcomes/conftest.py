"""Servers that the paths of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.servers import Fault, HttpServer, Servers, servers_in

pytest.register_assert_rewrite("outcomes.expected")

STATUSES = (401, 403, 404, 429, 500)
FAULTS = tuple(Fault("status", status, tool=f"status_{status}") for status in STATUSES) + tuple(
    Fault(kind, tool=kind) for kind in ("reset", "eof", "accepted", "html", "drop")
)


@pytest.fixture(scope="module")
def module_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers_in(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture(scope="module")
def http(module_servers: Servers) -> HttpServer:
    """Answers every tool; some tool names break what their name says."""
    return module_servers.http(*FAULTS, any_tool=True)
