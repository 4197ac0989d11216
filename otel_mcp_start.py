"""Run by every Python interpreter of this environment at its start; does nothing unless OTEL_MCP_ENABLED is set.

It stands outside the package so that an interpreter without the variable reads this file at most, and imports only
what is loaded already. SECURITY.md says how to see it and how to do without.
"""

import os
import sys


def start():
    """Watch this process if the variable says so. Never raises: a broken installation must not break Python."""
    if not os.environ.get("OTEL_MCP_ENABLED"):
        return
    try:
        from otel_mcp._start import autostart

        autostart.arm_if_enabled()
    except Exception as error:  # noqa: BLE001 - see above
        if sys.stderr is not None:
            sys.stderr.write(f"otel_mcp: cannot start ({type(error).__name__}: {error}); the program runs unwatched\n")
