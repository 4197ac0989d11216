"""The start file's other half: what is put in place in every Python process that runs with the variable set.

That is one entry in `sys.meta_path` and nothing else, so this module imports only what the interpreter has loaded
anyway. The rest comes when `mcp` or a host is imported, and runs when the first client session begins.
"""

from __future__ import annotations

import os
import sys

from otel_mcp._start.imports import forget_all, settle, when_imported

_OFF = ("", "0", "false", "no", "off")
_ON = ("1", "true", "yes", "on")


def arm() -> None:
    """Watch this process: patch the MCP SDK and the hosts as they are imported, now if they have been already."""
    when_imported("mcp", _mcp_is_imported)


def disarm() -> None:
    """The inverse of `arm`: no module is waited for, no session starts anything, and no patch is left."""
    forget_all()
    if "otel_mcp._observe.scopes" in sys.modules:
        from otel_mcp._observe import scopes

        scopes.starters.clear()
    if "otel_mcp._sdk" in sys.modules:
        from otel_mcp import _sdk

        _sdk.uninstall()
    if "otel_mcp._hosts.registry" in sys.modules:
        from otel_mcp._hosts import registry

        registry.uninstall()


def arm_if_enabled() -> None:
    """`arm` if ``OTEL_MCP_ENABLED`` says so and ``OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`` does not name us.

    A value that is neither true nor false is said once `mcp` is imported: every other Python process, pip among
    them, has no use for the complaint.
    """
    if _is_disabled():
        return
    value = os.environ.get("OTEL_MCP_ENABLED", "").strip().lower()
    if value in _ON:
        arm()
    elif value not in _OFF:
        when_imported("mcp", _complain)


def _is_disabled() -> bool:
    names = os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")
    return any(name.strip() in ("otel_mcp", "*") for name in names)


def _mcp_is_imported() -> None:
    from otel_mcp import _sdk
    from otel_mcp._observe.scopes import on_first_use
    from otel_mcp._start.runtime import ensure_started

    on_first_use(ensure_started)
    on_first_use(settle)
    _sdk.install()
    _say_what_is_missing()
    _arm_hosts()


def _say_what_is_missing() -> None:
    """One line where this SDK is too old or too new, or lacks what we look at: silence would look like peace."""
    from otel_mcp._ground import patching
    from otel_mcp._ground.supported import is_supported
    from otel_mcp._sdk.table import sdk_version
    from otel_mcp._start.notices import say

    version = sdk_version()
    points = [status for status in patching.statuses() if status.target == "mcp"]
    lacking = [status.point for status in points if status.state != patching.ACTIVE]
    if lacking:
        say(
            f"mcp {version or 'of an unknown version'} lacks {len(lacking)} of {len(points)} patch points "
            f"({', '.join(lacking[:3])}{', …' if len(lacking) > 3 else ''}), so not everything is seen; "
            "mcp 1.19 to 2.x is watched in full, and `otel-mcp doctor` tells more"
        )
    elif version is not None and not is_supported(version):
        say(f"mcp {version} is not one that is tested with (1.19 to 2.x): calls may go unseen; install another version")


def _arm_hosts() -> None:
    """Wait for the hosts. The adapters themselves are read now, since by now `mcp` is wanted: a client may follow."""
    from functools import partial

    from otel_mcp._ground.settings import Settings
    from otel_mcp._hosts import registry
    from otel_mcp._start.notices import say

    wanted = Settings.from_environment().hosts
    for sentence in registry.unknown(wanted):
        say(sentence)
    for adapter in registry.adapters(wanted):
        for module in adapter.MODULES:
            when_imported(module, partial(registry.install, adapter))


def _complain() -> None:
    from otel_mcp._ground.settings import Settings
    from otel_mcp._start.notices import say

    for complaint in Settings.from_environment().complaints:
        say(complaint)
