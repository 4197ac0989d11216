"""One HTTP server a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.servers import HttpServer, Servers, servers_in


@pytest.fixture(scope="module")
def module_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers_in(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture(scope="module")
def http(module_servers: Servers) -> HttpServer:
    return module_servers.http(any_tool=True, modern=True)
