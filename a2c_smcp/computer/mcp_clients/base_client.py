"""`a2c_smcp.computer.mcp.client` under the path that programs import."""

from a2c_smcp.computer.mcp.client import MCPClient

__all__ = ["MCPClient"]
