"""The metadata of a tool, as it travels: the owner's settings, and what MCP says about it, in JSON texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from a2c_smcp.smcp import SMCPTool

A2C_TOOL_META: Final = "a2c_tool_meta"
"""The key of the settings that a Computer's owner made."""
MCP_TOOL_ANNOTATION: Final = "MCP_TOOL_ANNOTATION"
"""The key of the MCP annotations."""
A2C_MCP_TOOL: Final = "a2c_mcp_tool"
"""The key of what an MCP server says about a tool and no other field has, such as its title and icons."""
A2C_DIGEST: Final = "a2c_digest"
"""The key of a tool's digest."""
A2C_MCP_SERVER: Final = "a2c_mcp_server"
"""The key of the name of the MCP server that has a tool."""
OURS: Final = frozenset((A2C_TOOL_META, MCP_TOOL_ANNOTATION, A2C_MCP_TOOL, A2C_DIGEST, A2C_MCP_SERVER))
"""The keys that a Computer sets. All others are those of the MCP server."""
_ELSEWHERE: Final = ("name", "description", "inputSchema", "outputSchema", "annotations")
"""What other fields of a tool hold."""


def tool_meta(tool: SMCPTool) -> dict[str, Any]:
    """The owner's settings; empty if there are none, or none that can be read."""
    return _object_in(tool, A2C_TOOL_META)


def mcp_tool(tool: SMCPTool) -> dict[str, Any]:
    """A tool as its MCP server describes it, under the name that an Agent uses, with title, icons, annotations and
    `_meta`."""
    further = _object_in(tool, A2C_MCP_TOOL)
    found: dict[str, Any] = {"name": tool["name"], "inputSchema": tool["params_schema"]}
    # A `null` here says that the server gave no description.
    if "description" not in further:
        found["description"] = tool["description"]
    if tool["return_schema"] is not None:
        found["outputSchema"] = tool["return_schema"]
    if annotations := _object_in(tool, MCP_TOOL_ANNOTATION):
        found["annotations"] = annotations
    if meta := {key: value for key, value in (tool.get("meta") or {}).items() if key not in OURS}:
        found["_meta"] = meta
    return found | {key: value for key, value in further.items() if key not in _ELSEWHERE}


def annotations_of(tool: SMCPTool) -> dict[str, Any] | None:
    """What the MCP server says about the effects of a tool; None if it says nothing."""
    return _object_in(tool, MCP_TOOL_ANNOTATION) or None


def _object_in(tool: SMCPTool, key: str) -> dict[str, Any]:
    """A JSON object in the metadata; empty if there is none, or none that can be read."""
    # A text, because the protocol's metadata holds scalars and lists of scalars only. It comes from another program, so
    # anything may be in its place.
    meta = tool.get("meta")
    written = meta.get(key) if isinstance(meta, Mapping) else None
    try:
        found: Any = json.loads(written) if isinstance(written, str) else None
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
