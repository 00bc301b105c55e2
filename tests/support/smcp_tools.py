"""Tools as a Computer sends them, without a Computer."""

from __future__ import annotations

from typing import Any

from mcp_types import Tool

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.mcp.listing import ListedTool
from a2c_smcp.computer.offer.tools import describe_tools
from a2c_smcp.smcp import SMCPTool


def smcp_tool(name: str = "echo", /, server: str = "s", tags: list[str] | None = None, **written: Any) -> SMCPTool:
    """A tool, from what its MCP server writes, as a Computer describes it."""
    written = {"name": name, "inputSchema": {"type": "object"}, **written}
    fields: dict[str, Any] = {"default_tool_meta": {"tags": tags}} if tags is not None else {}
    config = server_from({"command": "never-started", **fields}, server)
    tool: Tool = ListedTool.model_validate(written, by_name=False).as_written(written)
    return describe_tools(config, [tool])[name].tool
