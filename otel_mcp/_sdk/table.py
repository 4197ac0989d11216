"""The table of patch points, and the two verbs on it."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from typing import Final

from otel_mcp._ground import guard
from otel_mcp._ground.patching import Patch, Switch, patch_set
from otel_mcp._sdk import clocks, http, streams

_TARGETS: Final = ("mcp", "asyncio")
"""Hook targets of this room."""

_MODULES: Final = (
    "mcp.client.session", "mcp.client.stdio", "mcp.client.sse", "mcp.client.streamable_http",
)  # fmt: skip
_OPTIONAL_MODULES: Final = ("mcp.client.websocket",)
_V2_MODULES: Final = ("mcp.shared.jsonrpc_dispatcher", "mcp.shared.direct_dispatcher", "httpx2")
_V1_MODULES: Final = ("httpx",)


def major_version() -> int | None:
    """1 or 2, by what the SDK has, not by what it calls itself; None where there is no client to watch."""
    if "mcp.client.session" not in sys.modules:
        return None
    session = sys.modules["mcp.client.session"].ClientSession
    return 2 if hasattr(session, "send_discover") or hasattr(session, "adopt") else 1


def shared(switch: Switch) -> list[Patch]:
    """The rows both majors have."""

    def transport(module: str, name: str, describe: streams.Describe, *, optional: bool = False) -> Patch:
        return Patch(
            "mcp",
            f"mcp.client.{module}",
            name,
            lambda original: streams.wrap_generator(original, describe, switch),
            cell="func",
            optional=optional,
        )

    http_target = streams.describe_url("http", observes_writes=True)
    return [
        transport("stdio", "stdio_client", streams.describe_stdio),
        transport("sse", "sse_client", streams.describe_url("sse", observes_writes=False)),
        transport("streamable_http", "streamable_http_client", http_target, optional=True),  # not before 1.24
        transport("streamable_http", "streamablehttp_client", http_target, optional=True),  # not in 2.x
        transport(
            "websocket", "websocket_client", streams.describe_url("websocket", observes_writes=False), optional=True
        ),
        Patch(
            "mcp",
            "mcp.client.stdio",
            "_create_platform_compatible_process",
            lambda original: streams.wrap_process(original, switch),
        ),
        Patch(
            "mcp",
            "mcp.client.streamable_http",
            "StreamableHTTPTransport.__init__",
            lambda original: http.wrap_init(original, switch),
        ),
        Patch(
            "mcp",
            "mcp.client.streamable_http",
            "StreamableHTTPTransport._handle_post_request",
            lambda original: http.wrap_post(original, switch),
        ),
    ]


def clock_patches() -> list[Patch]:
    """The one row on asyncio; Python 3.10 has no `asyncio.timeouts`."""
    return [
        Patch("asyncio", "asyncio.timeouts", "Timeout._on_timeout", clocks.wrap_on_timeout, optional=True),
    ] if sys.version_info >= (3, 11) else []  # fmt: skip


def install() -> None:
    """Put the SDK's patches in; a second call adds only what could not be put in before. Never raises."""
    _import(_MODULES)
    major = major_version()
    if major is None:
        return
    own = _V2_MODULES if major == 2 else _V1_MODULES
    _import(own)
    _import(_OPTIONAL_MODULES)
    patches = patch_set("mcp")
    patches.install([*_of_major(major)(patches.switch), *shared(patches.switch)])
    patch_set("asyncio").install(clock_patches())


def _of_major(major: int) -> Callable[[Switch], list[Patch]]:
    """The rows of one major. Version 2 needs OpenTelemetry's API, and brings it; beside 1.x there may be none."""
    if major == 2:
        from otel_mcp._sdk import v2

        return v2.patches
    from otel_mcp._sdk import v1

    return v1.patches


def _import(modules: tuple[str, ...]) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        except Exception as error:  # noqa: BLE001 - a broken SDK is the program's to find out about
            guard.logger.debug("otel_mcp: importing %s failed: %r", module, error)


def uninstall() -> None:
    """Take the patches out again, in reverse order."""
    for target in _TARGETS:
        patch_set(target).uninstall()


def sdk_version() -> str | None:
    """The installed SDK's version."""
    try:
        return importlib.metadata.version("mcp")
    except importlib.metadata.PackageNotFoundError:
        return None


__all__ = ["install", "major_version", "sdk_version", "shared", "uninstall"]
