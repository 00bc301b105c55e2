"""The settings that a Computer's owner made for a tool, as they travel: a JSON text in the tool's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from a2c_smcp.smcp import SMCPTool


def tool_meta(tool: SMCPTool) -> dict[str, Any]:
    """The owner's settings; empty if there are none, or none that can be read."""
    # A text, because the protocol's metadata holds scalars and lists of scalars only. It comes from another program, so
    # anything may be in its place.
    meta = tool.get("meta")
    written = meta.get("a2c_tool_meta") if isinstance(meta, Mapping) else None
    try:
        found: Any = json.loads(written) if isinstance(written, str) else None
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
