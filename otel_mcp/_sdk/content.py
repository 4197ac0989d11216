"""What was said in a call, onto its span: only where `OTEL_MCP_CAPTURE_CONTENT` asks for it.

A deviation from the conventions, which leave it to the instrumentor: arguments and results of tools hold whatever the
user's data is. Values are cut at 200 characters like every attribute.
"""

from __future__ import annotations

import json
from typing import Any

from otel_mcp._ground import names as n
from otel_mcp._ground.text import short
from otel_mcp._ledger.model import Attempt


def wanted(attempt: Attempt) -> bool:
    """Whether the attempt has a span that takes content, where somebody asked for it."""
    return attempt.span is not None and attempt.span.is_recording()


def asked(attempt: Attempt, params: Any) -> None:
    """A tool's arguments."""
    arguments = getattr(params, "arguments", None)
    if attempt.method == n.TOOLS_CALL and arguments is not None and attempt.span is not None:
        text = json.dumps(arguments, ensure_ascii=False, default=repr)
        attempt.span.set_attribute(n.GEN_AI_TOOL_CALL_ARGUMENTS, short(text))


def answered(attempt: Attempt, result: Any) -> None:
    """A tool's result; of one that says that it failed, its text as the span's description too."""
    if attempt.method != n.TOOLS_CALL or attempt.span is None:
        return
    text = result.model_dump_json(by_alias=True, exclude_none=True)
    attempt.span.set_attribute(n.GEN_AI_TOOL_CALL_RESULT, short(text))
    parts = [part.text for part in getattr(result, "content", ()) if hasattr(part, "text")]
    attempt.description = short(" ".join(parts)) or None


def failed(attempt: Attempt, error: BaseException) -> None:
    """What the exception says."""
    attempt.description = short(str(error)) or None
