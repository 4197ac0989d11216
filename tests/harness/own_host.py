"""The hand-written host of `examples/own_host`, as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import streamable_http

if not hasattr(streamable_http, "streamable_http_client"):
    pytest.skip("the host of examples/own_host needs mcp 1.24", allow_module_level=True)

_SOURCE = Path(__file__).parents[2] / "examples" / "own_host" / "host.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("own_host", _SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["own_host"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


host = _load()
