"""What a connector is called when nobody has given it a name."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_mcp._ground import targets

COMMANDS = {
    "python server.py": "server",
    "python weather/server.py": "weather",
    "python3 /opt/odoo-mcp/src/main.py --port 3": "odoo-mcp",
    "python -m mcp_server_fetch": "mcp_server_fetch",
    "python -m weather.server": "weather",
    "python -u -m weather --verbose": "weather",
    "python -X dev -W error -m weather": "weather",
    "/usr/bin/python3.12 /srv/shop/app.py": "shop",
    "C:\\Python312\\python.exe C:\\tools\\billing\\server.py": "billing",
    "uvx mcp-server-git --repository /x": "mcp-server-git",
    "uvx --from git+https://github.com/a/b weather-mcp": "weather-mcp",
    "uvx mcp-server-time==1.2": "mcp-server-time",
    "uv run weather": "weather",
    "uv run --directory /srv/weather main.py": "main",
    "uv tool run mcp-server-sqlite": "mcp-server-sqlite",
    "pipx run mcp-server-calc": "mcp-server-calc",
    "npx -y @modelcontextprotocol/server-filesystem /data": "server-filesystem",
    "npx @acme/crm@1.4.0": "crm",
    "npx -y mcp-remote https://example.com/sse": "mcp-remote",
    "npx -p @acme/tools acme-mcp": "acme-mcp",
    "node build/index.js": "index",
    "node /srv/github-mcp/dist/index.js": "github-mcp",
    "bunx linear-mcp": "linear-mcp",
    "deno run -A jsr.ts": "jsr",
    "docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:latest": "github-mcp-server",
    "docker run --rm -i mcp/postgres postgresql://h/db": "postgres",
    "podman run -v /a:/b localhost/maps": "maps",
    "docker exec -i crm crm-server": "crm",
    "java -jar /opt/erp/erp-mcp.jar": "erp-mcp",
    "env TOKEN=x DEBUG=1 weather-mcp": "weather-mcp",
    "sh -c weather": "weather",
    "bash -lc -c 'cd /srv && TOKEN=x exec uv run shop-mcp'": "shop-mcp",
    "sh -c 'unbalanced": "sh",
    "cmd /c npx -y @acme/crm": "crm",
    "timeout 60s weather": "weather",
    "opentelemetry-instrument python weather/server.py": "weather",
    "tool-wrapper --mode x -- node /srv/notion/index.js": "notion",
    "./weather.sh": "weather",
    "weather-mcp": "weather-mcp",
    "/usr/local/bin/my server": "my",
    "mcp run weather.py": "weather",
    "npx --yes @acme/crm": "crm",
    "uv run --frozen --extra files weather": "weather",
    "node --experimental-strip-types /srv/github-mcp/server.ts": "github-mcp",
    "python server.py --api-key sk-live-4711": "server",
    "python server.py sk-live-4711": "server",
    "node dist/index.js --api-key sk-live-4711": "index",
    "uv run server.py --password sk-live-4711": "server",
    "java -jar server.jar sk-live-4711": "server",
    "mcp sk-live-4711": "mcp",
    "npx --token sk-live-4711 crm": "crm",
    "npx --token sk-live-4711": "npx",
    "uvx --index-url https://user:sk-live-4711@pypi.corp/simple crm": "crm",
    "docker run -i --hostname sk-live-4711 mcp/crm:1": "crm",
    "bash -lc 'TOKEN=abc python server.py --key sk-live-4711'": "server",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_gives_a_name(line: str) -> None:
    command, *args = line.split(" ") if "\\" in line or "unbalanced" in line else shlex.split(line)
    assert targets.from_command(command, args) == COMMANDS[line]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://mcp.example.com/mcp", "mcp.example.com"),
        ("https://mcp.example.com:443/mcp", "mcp.example.com"),
        ("https://mcp.example.com:8443/mcp", "mcp.example.com:8443"),
        ("http://localhost:8000/sse", "localhost:8000"),
        ("http://localhost:80/", "localhost"),
        ("https://user:secret@host.example/x?token=abc", "host.example"),
        ("http://[::1]:9000/mcp", "::1:9000"),
        ("https://host.example:99999/x", "host.example"),
        ("not a url", None),
        ("", None),
    ],
)
def test_a_url_gives_its_host(url: str, name: str | None) -> None:
    assert targets.from_url(url) == name


def test_a_url_loses_userinfo_query_and_fragment() -> None:
    assert targets.safe_url("https://user:secret@host:1/a/b?token=x#y") == "https://host:1/a/b"
    assert targets.safe_url("host/a?b") == "host/a"


def test_rules_match_in_the_order_given() -> None:
    rules = (("first", "*odoo*"), ("second", "*"))
    assert targets.configured(rules, "uvx odoo-mcp") == "first"
    assert targets.configured(rules, "uvx shop") == "second"
    assert targets.configured((), "x") is None


def test_a_second_target_of_one_name_gets_four_digits_of_its_hash() -> None:
    assert targets.with_hash("odoo", "uvx odoo --db a") == targets.with_hash("odoo", "uvx odoo --db a")
    assert targets.with_hash("odoo", "a") != targets.with_hash("odoo", "b")
    name, _, digits = targets.with_hash("odoo", "a").rpartition("-")
    assert (name, len(digits), int(digits, 16) >= 0) == ("odoo", 4, True)


@given(st.lists(st.text(), min_size=1))
def test_no_command_line_raises_and_every_name_is_fit_for_a_label(words: list[str]) -> None:
    name = targets.from_command(words[0], words[1:])
    assert name is None or (0 < len(name) <= targets.MAX_NAME and name.isprintable() and name == name.strip())


@given(st.text() | st.from_regex(r"https?://[^/]*[:@\[\]]?\d*/.*"))
def test_no_url_raises_and_no_secret_is_left(url: str) -> None:
    name = targets.from_url(url)
    assert name is None or (0 < len(name) <= targets.MAX_NAME and name.isprintable())
    targets.address(url)
    assert "?" not in targets.safe_url(url)
    assert "s3cret" not in targets.safe_url(f"https://u:s3cret@host/{url.replace('s3cret', '')}")
