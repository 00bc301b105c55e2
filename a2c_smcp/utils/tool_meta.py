"""What a Computer's owner configured for a tool, as it travels: a JSON text among the tool's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from a2c_smcp.smcp import SMCPTool


def tool_meta(tool: SMCPTool) -> dict[str, Any]:
    """The owner's settings; empty where there are none, or none that can be read."""
    meta = tool.get("meta")
    written = meta.get("a2c_tool_meta") if isinstance(meta, Mapping) else None
    try:
        found: Any = json.loads(written) if isinstance(written, str) else None
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
